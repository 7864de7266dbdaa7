// The commands of the command line, by noun. Each function adds its own to `app`; the one that is
// given sets invocation.action. `invocation` outlives `app`.
#pragma once

#include "tools/cli/invocation.h"

namespace CLI {
class App;
}

namespace signalbox {

void add_serve_command(CLI::App& app, Invocation& invocation);
void add_run_commands(CLI::App& app, Invocation& invocation);
void add_station_commands(CLI::App& app, Invocation& invocation);
void add_plan_commands(CLI::App& app, Invocation& invocation);
void add_step_commands(CLI::App& app, Invocation& invocation);
void add_lock_commands(CLI::App& app, Invocation& invocation);
void add_tick_commands(CLI::App& app, Invocation& invocation);
void add_loop_commands(CLI::App& app, Invocation& invocation);
void add_project_commands(CLI::App& app, Invocation& invocation);
void add_card_commands(CLI::App& app, Invocation& invocation);
void add_board_command(CLI::App& app, Invocation& invocation);
void add_watchdog_commands(CLI::App& app, Invocation& invocation);
void add_strategy_commands(CLI::App& app, Invocation& invocation);
void add_fence_commands(CLI::App& app, Invocation& invocation);
void add_artifacts_command(CLI::App& app, Invocation& invocation);
void add_events_command(CLI::App& app, Invocation& invocation);
void add_access_commands(CLI::App& app, Invocation& invocation);
void add_server_commands(CLI::App& app, Invocation& invocation);
void add_rpc_command(CLI::App& app, Invocation& invocation);
void add_replay_command(CLI::App& app, Invocation& invocation);
void add_diff_command(CLI::App& app, Invocation& invocation);
void add_audit_commands(CLI::App& app, Invocation& invocation);
void add_bench_command(CLI::App& app, Invocation& invocation);
void add_completion_command(CLI::App& app, Invocation& invocation);

// Of `run`, `station` and `lock`; in files of their own.
void add_run_start_command(CLI::App& run, Invocation& invocation);
void add_run_watch_command(CLI::App& run, Invocation& invocation);
void add_run_resume_command(CLI::App& run, Invocation& invocation);
void add_run_retry_command(CLI::App& run, Invocation& invocation);
void add_run_why_command(CLI::App& run, Invocation& invocation);
void add_run_trace_command(CLI::App& run, Invocation& invocation);
void add_run_export_command(CLI::App& run, Invocation& invocation);
void add_station_complete_command(CLI::App& station, Invocation& invocation);
void add_lock_exec_command(CLI::App& lock, Invocation& invocation);

}  // namespace signalbox
