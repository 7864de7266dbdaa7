// `signalbox watchdog …`: checks on demand whether an attempt is overdue.
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/elapsed_text.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"
#include "tools/cli/text_table.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Formats a number of seconds; empty if the field is no number.
std::string seconds_text(const json::object& result, const char* key) {
  const json::value* value = result.if_contains(key);
  if (value == nullptr || !value->is_number()) return {};
  return short_duration(static_cast<std::int64_t>(value->to_number<double>() * 1e9));
}

std::string view_watchdog(const json::object& result, const Terminal& terminal) {
  const bool timed_out = true_at(result, "timed_out");
  std::string verdict = timed_out ? "yes" : "no";
  if (true_at(result, "paused")) verdict += ": a paused run never times out";
  return named_values(
      {
          {"timed out", {verdict, timed_out ? Style::bad : Style::good}},
          {"station", {text_at(result, "stage"), Style::strong}},
          {"attempt", {text_at(result, "attempt")}},
          {"elapsed", {seconds_text(result, "elapsed_s")}},
          {"timeout", {seconds_text(result, "timeout_s")}},
          {"counted from", {text_at(result, "timer_origin_field")}},
          {"counted since", {clock_time(text_at(result, "timer_origin"), wall_clock_ns())}},
          {"checkpoint", {text_at(result, "checkpoint_path")}},
      },
      terminal);
}

void add_watchdog_check(ToolCommand watchdog, Invocation& invocation) {
  struct Options {
    std::string run_id;
    std::optional<std::string> command_id;
  };
  ToolCommand command =
      watchdog.add_subcommand("check", "Time out a run's attempt now if it is overdue");
  const auto options = std::make_shared<Options>();
  command.add_option("RUN", options->run_id, "The run's id, its end, or `last`").required();
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox watchdog check \"$run\"\n"
      "  signalbox watchdog check \"$run\" --json | jq .result.timed_out");
  command.action([options, &invocation] {
    json::object params{{"run_id", options->run_id}};
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "watchdog.check", std::move(params), view_watchdog);
  });
}

}  // namespace

void add_watchdog_commands(ToolCommand app, Invocation& invocation) {
  ToolCommand watchdog = app.add_group("watchdog", "Time out overdue attempts: check");
  watchdog.footer(
      "Examples:\n"
      "  signalbox watchdog check \"$run\"");
  add_watchdog_check(watchdog, invocation);
}

}  // namespace signalbox
