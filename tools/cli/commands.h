// The commands of the command line, by noun. Each function adds its commands to `app`; `invocation`
// must outlive the command line.
#pragma once

#include "tools/cli/invocation.h"

namespace signalbox {

void add_serve_command(ToolCommand app, Invocation& invocation);
void add_run_commands(ToolCommand app, Invocation& invocation);
void add_station_commands(ToolCommand app, Invocation& invocation);
void add_plan_commands(ToolCommand app, Invocation& invocation);
void add_step_commands(ToolCommand app, Invocation& invocation);
void add_lock_commands(ToolCommand app, Invocation& invocation);
void add_tick_commands(ToolCommand app, Invocation& invocation);
void add_loop_commands(ToolCommand app, Invocation& invocation);
void add_project_commands(ToolCommand app, Invocation& invocation);
void add_card_commands(ToolCommand app, Invocation& invocation);
void add_board_command(ToolCommand app, Invocation& invocation);
void add_runner_commands(ToolCommand app, Invocation& invocation);
void add_backup_command(ToolCommand app, Invocation& invocation);
void add_cell_commands(ToolCommand app, Invocation& invocation);
void add_inbox_command(ToolCommand app, Invocation& invocation);
// Adds `pause` and `resume`, of the whole service.
void add_pause_commands(ToolCommand app, Invocation& invocation);
void add_drain_command(ToolCommand app, Invocation& invocation);
void add_report_command(ToolCommand app, Invocation& invocation);
void add_console_command(ToolCommand app, Invocation& invocation);
void add_watchdog_commands(ToolCommand app, Invocation& invocation);
void add_strategy_commands(ToolCommand app, Invocation& invocation);
void add_fence_commands(ToolCommand app, Invocation& invocation);
void add_artifacts_command(ToolCommand app, Invocation& invocation);
void add_events_command(ToolCommand app, Invocation& invocation);
void add_timeline_command(ToolCommand app, Invocation& invocation);
void add_access_commands(ToolCommand app, Invocation& invocation);
void add_server_commands(ToolCommand app, Invocation& invocation);
void add_rpc_command(ToolCommand app, Invocation& invocation);
void add_replay_command(ToolCommand app, Invocation& invocation);
void add_diff_command(ToolCommand app, Invocation& invocation);
void add_audit_commands(ToolCommand app, Invocation& invocation);
void add_bench_command(ToolCommand app, Invocation& invocation);
void add_completion_command(ToolCommand app, Invocation& invocation);
// Adds `help` and `version`.
void add_help_commands(CommandLine& line, Invocation& invocation);

// Subcommands of `run`, `station`, `lock` and `cell` that have their own source files.
void add_run_start_command(ToolCommand run, Invocation& invocation);
void add_run_watch_command(ToolCommand run, Invocation& invocation);
void add_run_artifact_command(ToolCommand run, Invocation& invocation);
void add_run_list_command(ToolCommand run, Invocation& invocation);
void add_run_logs_command(ToolCommand run, Invocation& invocation);
void add_run_diff_command(ToolCommand run, Invocation& invocation);
void add_run_approve_command(ToolCommand run, Invocation& invocation);
void add_run_export_command(ToolCommand run, Invocation& invocation);
void add_station_complete_command(ToolCommand station, Invocation& invocation);
void add_lock_exec_command(ToolCommand lock, Invocation& invocation);
void add_cell_seed_command(ToolCommand cell, Invocation& invocation);

}  // namespace signalbox
