// `signalbox tick …`: begins, ends, recovers and lists ticks, the iterations of a loop.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "domain/service_loops.h"
#include "domain/text_parts.h"
#include "domain/try.h"
#include "server/text/printable_text.h"
#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/nearest_word.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

Style style_of_tick(const std::string& status) {
  if (status == "running" || status == "start") return Style::busy;
  if (status == "succeeded") return Style::good;
  return status == "recovered" || status == "skipped" ? Style::plain : Style::bad;
}

std::string open_text(const json::object& result, const Terminal& terminal, std::int64_t now_ns) {
  TextTable table({TextTable::pasted("loop"),
                   {"status"},
                   TextTable::spare(2, "token", TextTable::Align::right),
                   TextTable::spare(1, "started"),
                   {"lease until"},
                   TextTable::spare(3, "stage"),
                   {"reason"}});
  for (const json::value& each : array_at(result, "open")) {
    if (!each.is_object()) continue;
    const json::object& tick = each.as_object();
    const std::string status = text_at(tick, "status");
    table.add({{text_at(tick, "loop"), Style::strong},
               {status, style_of_tick(status)},
               {text_at(tick, "token")},
               {short_age(text_at(tick, "started_at"), now_ns)},
               {clock_time(text_at(tick, "expires_at"), now_ns)},
               {text_at(tick, "stage")},
               {text_at(tick, "reason")}});
  }
  return table.empty() ? std::string() : table.text(terminal) + "\n";
}

// Returns the code and message of a tick's error, else the tick's reason. A code that says no more
// than the message or `what`, the column before, isn't said twice.
std::string error_or_reason(const json::object& row, const std::string& what) {
  const json::object& error = object_at(row, "error");
  if (error.empty()) return text_at(row, "reason");
  const std::string code = text_at(error, "code");
  const std::string message = text_at(error, "message");
  const bool repeats = lower_case(message) == lower_case(code);
  if (message.empty() || repeats) return code;
  return lower_case(code) == lower_case(what) ? message : code + ": " + message;
}

std::string view_tick_list(const json::object& result, const Terminal& terminal,
                           std::int64_t now_ns) {
  TextTable table({TextTable::spare(3, "position", TextTable::Align::right),
                   {"time"},
                   TextTable::pasted("loop"),
                   TextTable::spare(1, "token", TextTable::Align::right),
                   {"tick"},
                   {"took", TextTable::Align::right},
                   TextTable::spare(2, "stage"),
                   {"reason"}});
  for (const json::value& each : array_at(result, "rows")) {
    if (!each.is_object()) continue;
    const json::object& row = each.as_object();
    const std::string outcome = text_at(row, "outcome");
    const std::string what = outcome.empty() ? text_at(row, "kind") : outcome;
    table.add(
        {{text_at(row, "position")},
         {clock_time(text_at(row, "ts"), now_ns), Style::faint},
         {text_at(row, "loop"), Style::strong},
         {text_at(row, "token")},
         {what, style_of_tick(what)},
         {row.contains("duration_ms")
              ? short_duration(static_cast<std::int64_t>(number_at(row, "duration_ms")) * 1'000'000)
              : std::string()},
         {text_at(row, "stage")},
         {error_or_reason(row, what)}});
  }
  std::string text = open_text(result, terminal, now_ns);
  text += table.empty() ? std::string("no ticks; `signalbox tick begin` begins one\n")
                        : table.text(terminal);
  if (!text_at(result, "next_cursor").empty()) {
    text += "more: --all, or --cursor " + text_at(result, "next_cursor") + "\n";
  }
  return text;
}

void add_begin(ToolCommand tick, Invocation& invocation) {
  struct Options {
    std::string loop;
    std::optional<std::string> stage, reason, run_id, run_root, command_id;
    std::optional<std::int64_t> lease_ms;
    std::optional<std::uint64_t> lock_token;
  };
  ToolCommand command = tick.add_subcommand("begin", "Begin a tick of a loop; prints its token");
  const auto options = std::make_shared<Options>();
  command.add_option("LOOP", options->loop, "The loop").required();
  command.add_option("--stage", options->stage, "What the tick is about");
  command.add_option("--reason", options->reason, "What triggered it; kept in the log");
  command.add_option("--lease-ms", options->lease_ms, "How long it may take; default: 10 minutes");
  command.add_option("--run", options->run_id, "The run that it drives");
  command
      .add_option("--run-root", options->run_root,
                  "The directory of its marker; default: the run's own")
      .type_name("DIR");
  command.add_option("--lock-token", options->lock_token,
                     "The token of a held lock; the tick fails when it is lost");
  add_command_id(command, options->command_id);
  command.footer(
      "Exits with 75 while a tick of the loop is in progress, and with 1 if the\n"
      "previous tick never ended: check what it left behind, then run `signalbox tick\n"
      "recover`.\n\n"
      "Examples:\n"
      "  token=$(signalbox tick begin nightly --reason cron)\n"
      "  signalbox tick begin nightly --stage plan --run \"$run\" --lease-ms 60000 --json");
  command.action([options, &invocation] {
    json::object params{{"loop", options->loop}};
    set_param(params, "stage", options->stage);
    set_param(params, "reason", options->reason);
    set_param(params, "lease_ms", options->lease_ms);
    set_param(params, "run_id", options->run_id);
    set_param(params, "run_root", options->run_root);
    set_param(params, "lock_token", options->lock_token);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "tick.begin", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return text_at(result, "token") + "\n";
                           });
  });
}

void add_end(ToolCommand tick, Invocation& invocation) {
  struct Options {
    std::string loop, outcome;
    std::uint64_t token = 0;
    std::optional<std::string> error, command_id;
  };
  ToolCommand command = tick.add_subcommand("end", "End a tick");
  const auto options = std::make_shared<Options>();
  command.add_option("LOOP", options->loop, "The loop").required();
  command.add_option("--token", options->token, "The token from `tick begin`").required();
  command.add_option("--outcome", options->outcome, "How it ended")
      .required()
      .one_of({"succeeded", "failed"});
  command.add_option("--error", options->error, "What went wrong");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox tick end nightly --token \"$token\" --outcome succeeded\n"
      "  signalbox tick end nightly --token \"$token\" --outcome failed \\\n"
      "    --error \"no network\"");
  command.action([options, &invocation] {
    json::object params{
        {"loop", options->loop}, {"token", options->token}, {"outcome", options->outcome}};
    set_param(params, "error", options->error);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "tick.end", std::move(params),
                           [](const json::object& result, const Terminal&) {
                             return text_at(result, "outcome") + "\n";
                           });
  });
}

// Returns the loops that are known: those that have had a tick lately, and the service's own.
Called<std::vector<std::string>> known_loops(const Invocation& invocation) {
  constexpr int rows_read_max = 500;
  const auto ticks = TRY(call_server(invocation, "tick.list", {{"limit", rows_read_max}}));
  const auto service = TRY(call_server(invocation, "loop.list", {}));
  std::set<std::string> known;
  for (const json::array* each :
       {&array_at(ticks, "open"), &array_at(ticks, "rows"), &array_at(service, "loops")}) {
    for (const json::value& row : *each) {
      if (row.is_object()) known.insert(text_at(row.as_object(), "loop"));
    }
  }
  return std::vector<std::string>(known.begin(), known.end());
}

CallError unknown_loop(const std::string& loop, const std::vector<std::string>& known) {
  constexpr std::size_t named_max = 8;
  std::string message = "the log has no tick of a loop " + printable(loop);
  std::vector<std::string> next{"signalbox tick list"};
  if (const auto meant = nearest_word(loop, known)) {
    message += "; did you mean " + printable(*meant) + "?";
    next = {"signalbox tick list --loop " + for_the_shell(*meant)};
  } else if (!known.empty()) {
    message += "; there are ";
    for (std::size_t each = 0; each < std::min(known.size(), named_max); ++each) {
      message += (each == 0 ? "" : ", ") + printable(known[each]);
    }
    if (known.size() > named_max) message += ", …";
  }
  return usage_error(std::move(message), std::move(next));
}

// Recovers a loop. A name that nobody has given a loop is a mistyped one: whoever believed that it
// was recovered would find the loop that was meant halted in the morning.
Called<json::object> recover_loop(const Invocation& invocation, const json::object& params) {
  auto result = call_server(invocation, "tick.recover", params);
  if (!result || true_at(*result, "recovered")) return result;
  const std::string loop = text_at(params, "loop");
  if (is_service_loop(loop)) return result;
  const auto ticks = call_server(invocation, "tick.list", {{"loop", loop}, {"limit", 1}});
  // Without an answer nothing is known of the name; nothing was recovered in any case.
  if (!ticks || !array_at(*ticks, "open").empty() || !array_at(*ticks, "rows").empty()) {
    return result;
  }
  const auto known = known_loops(invocation);
  if (!known) return result;
  return tl::unexpected(unknown_loop(loop, *known));
}

void add_recover(ToolCommand tick, Invocation& invocation) {
  struct Options {
    std::string loop, reason;
    bool force = false;
    std::optional<std::uint64_t> token;
    std::optional<std::string> command_id;
  };
  ToolCommand command = tick.add_subcommand("recover", "Resume a loop that halted");
  const auto options = std::make_shared<Options>();
  command.add_option("LOOP", options->loop, "The loop").required();
  command.add_option("--reason", options->reason, "Why it is safe to resume; kept in the log")
      .required();
  command.add_option("--token", options->token,
                     "The token of the tick that is meant: no later one is recovered");
  command.add_flag("--force", options->force, "Resume even if its tick may still be in progress");
  add_command_id(command, options->command_id);
  command.footer(
      "Exits with 0 for a loop that has nothing to recover, and with 2 for a name of\n"
      "which the log has no tick.\n\n"
      "Examples:\n"
      "  signalbox tick recover nightly --reason \"its machine was switched off\"\n"
      "  signalbox tick recover nightly --token 1234 --reason \"killed it\" --force");
  command.action([options, &invocation] {
    json::object params{{"loop", options->loop}, {"reason", options->reason}};
    if (options->force) params["force"] = true;
    set_param(params, "token", options->token);
    set_param(params, "command_id", options->command_id);
    return answer(
        invocation, recover_loop(invocation, params),
        [](const json::object& result, const Terminal&) {
          return std::string(true_at(result, "recovered") ? "recovered\n" : "nothing to recover\n");
        });
  });
}

struct ListTicksOptions {
  std::optional<std::string> loop, run_id, cursor;
  std::optional<std::uint32_t> limit;
  bool all = false;
};

Called<json::object> list_ticks(const Invocation& invocation, const ListTicksOptions& options) {
  json::object params;
  set_param(params, "loop", options.loop);
  set_param(params, "run_id", options.run_id);
  set_param(params, "limit", options.limit);
  set_param(params, "cursor", options.cursor);
  TRY(complete_ids(invocation, params));
  auto page = call_server(invocation, "tick.list", params);
  if (!page || !options.all) return page;
  json::array rows = array_at(*page, "rows");
  const json::array open = array_at(*page, "open");
  while (!text_at(*page, "next_cursor").empty()) {
    params["cursor"] = text_at(*page, "next_cursor");
    page = call_server(invocation, "tick.list", params);
    if (!page) return page;
    for (const json::value& each : array_at(*page, "rows")) rows.push_back(each);
  }
  (*page)["rows"] = std::move(rows);
  (*page)["open"] = open;
  return page;
}

void add_tick_list(ToolCommand tick, Invocation& invocation) {
  ToolCommand command =
      tick.add_subcommand("list", "Ticks in progress, then past ticks, newest first");
  const auto options = std::make_shared<ListTicksOptions>();
  command.add_option("--loop", options->loop, "Only ticks of this loop");
  command.add_option("--run", options->run_id, "Only ticks that drove this run");
  command.add_option("--limit", options->limit, "Rows per page, 1 to 500; default: 50");
  command.add_option("--cursor", options->cursor,
                     "Continue after the page that returned this cursor");
  command.add_flag("--all", options->all, "All pages");
  command.footer(
      "Examples:\n"
      "  signalbox tick list\n"
      "  signalbox tick list --loop nightly --all --json | jq '.result.rows[]'");
  command.action([options, &invocation] {
    return answer(invocation, list_ticks(invocation, *options),
                  [options](const json::object& result, const Terminal& terminal) {
                    const bool is_filtered = options->loop || options->run_id;
                    if (is_filtered && array_at(result, "open").empty() &&
                        array_at(result, "rows").empty() &&
                        text_at(result, "next_cursor").empty()) {
                      return no_match("tick", "signalbox tick list", terminal);
                    }
                    return view_tick_list(result, terminal, terminal.now_ns());
                  });
  });
}

}  // namespace

void add_tick_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand tick = app.add_group("tick", "Ticks of a loop: begin, end, recover, list");
  tick.footer(
      "Examples:\n"
      "  token=$(signalbox tick begin nightly --reason cron)\n"
      "  signalbox tick end nightly --token \"$token\" --outcome succeeded");
  add_begin(tick, invocation);
  add_end(tick, invocation);
  add_recover(tick, invocation);
  add_tick_list(tick, invocation);
}

}  // namespace signalbox
