// `signalbox events`: reads or follows the log.
#include <memory>
#include <optional>
#include <vector>

#include <unistd.h>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/event_stream.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/views/event_view.h"
#include "tools/views/log_view.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::uint64_t page_events_max = 1000;

struct EventsOptions {
  std::optional<std::uint64_t> from;
  std::uint64_t limit = 100;
  std::optional<std::string> run_id;
  std::optional<std::string> span_id;
  std::vector<std::string> types;
  bool follow = false;
};

json::object filter_params(const EventsOptions& options) {
  json::object params;
  set_param(params, "from", options.from);
  set_param(params, "run_id", options.run_id);
  set_param(params, "span_id", options.span_id);
  if (!options.types.empty()) {
    params["types"] = json::array(options.types.begin(), options.types.end());
  }
  return params;
}

// Reads pages up to the limit or the end: a page may have fewer events than asked for, or none,
// although more follow.
Called<json::object> read_events(const Invocation& invocation, const EventsOptions& options) {
  json::object params = filter_params(options);
  TRY(complete_ids(invocation, params));
  json::array events;
  for (;;) {
    params["limit"] = std::min(options.limit - events.size(), page_events_max);
    auto page = call_server(invocation, "events.read", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "events")) events.push_back(each);
    if (!true_at(*page, "more") || events.size() >= options.limit) {
      (*page)["events"] = std::move(events);
      return page;
    }
    params["from"] = number_at(*page, "next_from");
  }
}

ExitCode follow(const Invocation& invocation, const EventsOptions& options) {
  const Terminal terminal = output_terminal(invocation);
  LogView log(/*named=*/true);
  const auto followed = follow_events(
      invocation, filter_params(options),
      [&](const json::object& event) {
        write_out(invocation.json ? json::serialize(event) + "\n"
                                  : event_line(event, terminal, wall_clock_ns()));
        return true;
      },
      [&](const std::string& name, const json::object& params) {
        if (invocation.json) {
          json::object line = params;
          line["type"] = name;
          write_out(json::serialize(line) + "\n");
        } else if (name == "agent.log") {
          write_out(log.lines(params, terminal));
        } else {
          write_out(broadcast_line(name, params, terminal, wall_clock_ns()));
        }
      });
  if (followed) return ExitCode::ok;
  return answer(invocation, tl::unexpected(followed.error()), {});
}

ExitCode events(const Invocation& invocation, const EventsOptions& options) {
  if (options.follow) return follow(invocation, options);
  return answer(invocation, read_events(invocation, options),
                [from = options.from](const json::object& result, const Terminal& terminal) {
                  std::string text;
                  if (result.contains("history_from")) {
                    write_message("the log is complete from position " +
                                  text_at(result, "history_from") +
                                  " on; older records remain only for open runs and cards\n");
                  }
                  for (const json::value& each : array_at(result, "events")) {
                    text += event_line(each.get_object(), terminal, wall_clock_ns());
                  }
                  const std::uint64_t end = number_at(result, "position");
                  if (from.value_or(0) > end) {
                    write_message("the log ends at " + std::to_string(end) +
                                  "; --follow waits for what comes next\n");
                  }
                  if (true_at(result, "more")) {
                    text += "more: --from " + text_at(result, "next_from") + "\n";
                  }
                  return text;
                });
}

}  // namespace

void add_events_command(ToolCommand app, Invocation& invocation) {
  ToolCommand command = app.add_subcommand("events", "Read or follow the log's events");
  const auto options = std::make_shared<EventsOptions>();
  command.add_option(
      "--from", options->from,
      "The first position; default: the first there is, or with --follow the next event");
  command.add_option("--limit", options->limit, "The maximum number of events, without --follow")
      .range(std::uint64_t{1}, std::uint64_t{1'000'000})
      .shows_default();
  command.add_option("--run", options->run_id, "Only events of this run");
  command.add_option("--span", options->span_id,
                     "Only this span: a run's, which is its id, or an attempt's");
  command.add_option("--type", options->types, "Only events of this type; repeatable").repeatable();
  command.add_flag("--follow", options->follow, "Follow new events until interrupted");
  command.footer(
      "With --follow --json the output is a stream of JSON objects, one event a line.\n"
      "With --follow, --type also takes names of broadcasts: heartbeat.tick, agent.log,\n"
      "...\n\n"
      "Examples:\n"
      "  signalbox events --from 120 --limit 1\n"
      "  signalbox events --run \"$run\" --type StationSucceeded --json\n"
      "  signalbox events --span \"$run\"\n"
      "  signalbox events --follow --type agent.log\n"
      "  signalbox events --follow --json | jq -r .type");
  command.action([options, &invocation] { return events(invocation, *options); });
}

}  // namespace signalbox
