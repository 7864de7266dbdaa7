// `signalbox run retry`: takes a failed run up again at the station that failed.
#include <cstdint>
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/json_fields.h"
#include "tools/cli/remote_call.h"

namespace signalbox {
namespace {

struct RetryOptions {
  std::string run_id;
  std::optional<std::string> reason;
  std::optional<std::string> strategy;
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> command_id;
};

std::string view_retried(const boost::json::object& result, const Terminal&) {
  return text_at(result, "status") + ": station " + text_at(result, "station") + " is " +
         text_at(result, "station_status") + " again, with strategy " +
         text_at(result, "strategy") + "\n";
}

}  // namespace

void add_run_retry_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "retry", "Start a new attempt of the station that a failed run failed at, and no other");
  const auto options = std::make_shared<RetryOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_option("--reason", options->reason, "Why; kept in the log");
  command.add_option("--strategy", options->strategy,
                     "To begin with, of those of the station; else its first");
  command.add_option("--max-retries", options->max_retries,
                     "Of each station from now on, instead of what the pipeline says");
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox run retry \"$run\" --reason \"the disk was full\"\n"
      "  signalbox run retry \"$run\" --strategy simplified --max-retries 1 --json");
  command.action([options, &invocation] {
    boost::json::object params{{"run_id", options->run_id}};
    set_param(params, "reason", options->reason);
    set_param(params, "strategy", options->strategy);
    set_param(params, "max_retries", options->max_retries);
    set_param(params, "command_id", options->command_id);
    return call_and_answer(invocation, "run.retry", std::move(params), view_retried);
  });
}

}  // namespace signalbox
