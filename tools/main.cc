// The `signalbox` program: registers its commands, runs the one that was given and returns its exit
// code.
#include "server/executors/process/internal_command.h"
#include "tools/cli/commands.h"
#include "tools/cli/invocation.h"
#include "tools/commands/completion_offers.h"
#include "tools/deep_work/deep_worker.h"

namespace signalbox {
namespace {

void add_commands(CommandLine& line, Invocation& invocation) {
  const ToolCommand app = line.root();
  add_shared_options(app, invocation);
  add_serve_command(app, invocation);
  add_run_commands(app, invocation);
  add_station_commands(app, invocation);
  add_plan_commands(app, invocation);
  add_step_commands(app, invocation);
  add_lock_commands(app, invocation);
  add_tick_commands(app, invocation);
  add_loop_commands(app, invocation);
  add_project_commands(app, invocation);
  add_card_commands(app, invocation);
  add_board_command(app, invocation);
  add_inbox_command(app, invocation);
  add_report_command(app, invocation);
  add_watchdog_commands(app, invocation);
  add_strategy_commands(app, invocation);
  add_fence_commands(app, invocation);
  add_artifacts_command(app, invocation);
  add_events_command(app, invocation);
  add_access_commands(app, invocation);
  add_server_commands(app, invocation);
  add_rpc_command(app, invocation);
  add_replay_command(app, invocation);
  add_diff_command(app, invocation);
  add_audit_commands(app, invocation);
  add_bench_command(app, invocation);
  add_completion_command(app, invocation);
  add_help_commands(line, invocation);
  app.footer(
      "Every command takes --data, --socket, --server, --token-file and --json, every\n"
      "query --at; they may follow the command. Exit codes: 0 done, 1 refused, 2 usage,\n"
      "69 no server, 74 I/O, 75 try again, 77 not allowed, 78 bad configuration or\n"
      "damaged data.\n\n"
      "Examples:\n"
      "  signalbox serve --data ./box\n"
      "  signalbox run start \"fix the failing test\" --watch\n"
      "  signalbox run list --status running --json\n"
      "  signalbox run list --at 2026-11-20T03:00:00Z");
}

}  // namespace
}  // namespace signalbox

int main(int argc, char** argv) {
  using namespace signalbox;
  // The same binary is also the supervisor of a job and the built-in commands of jobs.
  if (const auto exit_code = run_internal_command(argc, argv)) return *exit_code;
  if (const auto exit_code = run_deep_work(argc, argv)) return *exit_code;
  CommandLine line("An event-sourced register for autonomous runs", "signalbox",
                   "signalbox " SIGNALBOX_VERSION);
  Invocation invocation;
  add_commands(line, invocation);
  if (const auto exit_code = run_completion_offers(line.root(), invocation, argc, argv)) {
    return *exit_code;
  }
  return run(line, invocation, argc, argv);
}
