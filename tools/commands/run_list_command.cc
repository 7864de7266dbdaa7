// `signalbox run list`: runs, filtered and in an order.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"
#include "tools/commands/run_filter_options.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct RunListOptions {
  RunFilterOptions filter;
  std::vector<std::string> waiting_for;
  std::optional<std::string> station, code, text, order_by, cursor;
  std::optional<std::uint32_t> limit;
  bool totals = false;
  bool all = false;
};

void set_list(json::object& params, const char* name, const std::vector<std::string>& values) {
  if (!values.empty()) params[name] = json::array(values.begin(), values.end());
}

Called<json::object> read_run_list(const Invocation& invocation, const RunListOptions& options) {
  json::object params;
  set_list(params, "status", options.filter.statuses);
  set_list(params, "waiting_for", options.waiting_for);
  set_run_filter(params, options.filter);
  set_param(params, "station", options.station);
  set_param(params, "code", options.code);
  set_param(params, "text", options.text);
  set_param(params, "order_by", options.order_by);
  set_param(params, "cursor", options.cursor);
  set_param(params, "limit", options.limit);
  if (options.totals) params["totals"] = true;
  auto page = call_server(invocation, "run.list", params);
  if (!page || !options.all) return page;
  json::array runs = array_at(*page, "runs");
  std::string cursor = text_at(*page, "next_cursor");
  while (!cursor.empty()) {
    params["cursor"] = cursor;
    page = call_server(invocation, "run.list", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "runs")) runs.push_back(each);
    cursor = text_at(*page, "next_cursor");
  }
  (*page)["runs"] = std::move(runs);
  return page;
}

bool has_filter(const RunListOptions& options) {
  return !run_filter_words(options.filter).empty() || !options.waiting_for.empty() ||
         options.station || options.code || options.text || options.order_by == "ended" ||
         options.cursor;
}

std::string view_listed_runs(const RunListOptions& options, const json::object& result,
                             const Terminal& terminal) {
  const bool is_end = text_at(result, "next_cursor").empty();
  const bool has_none = array_at(result, "runs").empty() && is_end && has_filter(options);
  std::string text = has_none ? no_match("run", "signalbox run list", terminal)
                              : view_run_list(result, terminal, terminal.now_ns());
  std::string totals;
  for (const auto& each : object_at(result, "totals")) {
    const std::string count = scalar_text(each.value());
    if (count == "0") continue;
    totals += (totals.empty() ? "" : ", ") + count + " " + std::string(each.key());
  }
  if (result.contains("totals")) text += (totals.empty() ? "no runs" : totals) + "\n";
  return text;
}

}  // namespace

void add_run_list_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand("list", "Runs, newest first");
  const auto options = std::make_shared<RunListOptions>();
  add_run_filter_options(command, options->filter, "Only runs");
  command
      .add_option("--waiting-for", options->waiting_for,
                  "Only runs that wait for this, or for any of several")
      .one_of({"backoff", "deferred", "stalled", "quota", "approval", "budget"})
      .list();
  command.add_option("--station", options->station, "Only runs at this station");
  command.add_option("--code", options->code, "Only runs with this error code");
  command.add_option("--text", options->text, "Only runs with this text in the goal");
  command.add_option("--order-by", options->order_by, "The latest first by this; default: started")
      .one_of({"started", "updated", "ended"});
  command.add_option("--limit", options->limit, "Runs per page, 1 to 500; default: 50");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.add_flag("--all", options->all, "All pages");
  command.add_flag("--totals", options->totals,
                   "Also how many runs have which status, whatever --status says");
  command.footer(
      "Examples:\n"
      "  signalbox run list\n"
      "  signalbox run list --since 8h --totals\n"
      "  signalbox run list --status failed,canceled --project web --all\n"
      "  signalbox run list --waiting-for approval --order-by updated\n"
      "  signalbox run list --label team=blue --json | jq -r '.result.runs[].run_id'");
  command.action([options, &invocation] {
    return answer(invocation, read_run_list(invocation, *options),
                  [options](const json::object& result, const Terminal& terminal) {
                    return view_listed_runs(*options, result, terminal);
                  });
  });
}

}  // namespace signalbox
