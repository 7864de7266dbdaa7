// `signalbox run resume`: lets a run go on that somebody paused, that waits for a decision, or that
// has used up its budget.
#include <memory>
#include <optional>

#include "tools/cli/commands.h"
#include "tools/cli/remote_call.h"
#include "tools/commands/budget_options.h"
#include "tools/views/run_view.h"

namespace signalbox {
namespace {

struct ResumeOptions {
  std::string run_id;
  std::optional<std::string> reason;
  std::optional<std::string> decision;
  std::optional<std::string> station;
  std::optional<std::string> command_id;
  BudgetOptions budget;
};

}  // namespace

void add_run_resume_command(ToolCommand run, Invocation& invocation) {
  ToolCommand command = run.add_subcommand(
      "resume", "Let a run go on that is paused, waits for a decision or has used up its budget");
  const auto options = std::make_shared<ResumeOptions>();
  command.add_option("RUN", options->run_id, "Its id").required();
  command.add_option("--decision", options->decision, "About the station that waits for one")
      .one_of({"approve", "reject"});
  command.add_option("--station", options->station,
                     "The one that is decided about; refused if it is another's turn");
  command.add_option("--reason", options->reason, "Why; kept in the log");
  add_budget_options(command, options->budget);
  add_command_id(command, options->command_id);
  command.footer(
      "Examples:\n"
      "  signalbox run resume \"$run\"\n"
      "  signalbox run resume \"$run\" --station review --decision approve --reason \"looks "
      "right\"\n"
      "  signalbox run resume \"$run\" --max-cost-usd 10 --json");
  command.action([options, &invocation] {
    boost::json::object params{{"run_id", options->run_id}};
    set_param(params, "reason", options->reason);
    set_param(params, "decision", options->decision);
    set_param(params, "station", options->station);
    set_param(params, "command_id", options->command_id);
    set_budget(params, options->budget);
    return call_and_answer(invocation, "run.resume", std::move(params), view_status_change);
  });
}

}  // namespace signalbox
