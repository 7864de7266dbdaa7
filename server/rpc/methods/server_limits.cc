#include "server/rpc/methods/server_limits.h"

#include <cstdint>
#include <utility>

#include "domain/limits.h"
#include "projections/buffering_table.h"
#include "projections/kept_rows.h"
#include "projections/retention_plan.h"
#include "projections/trace_span.h"
#include "server/board/policy_keys.h"
#include "server/board/run_change.h"
#include "server/cell/cell_trim.h"
#include "server/cell/cell_view.h"
#include "server/followers/traces/trace_limits.h"
#include "server/limits.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/method.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/step_queue.h"
#include "server/rpc/untold_usage.h"
#include "server/rpc/upload_budget.h"
#include "server/scheduler/file_retention.h"
#include "server/scheduler/followed_redactions.h"
#include "server/scheduler/retention_loop.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"

namespace signalbox {

void answer_limits(Api& api, Call& call) {
  boost::json::object result;
#define SIGNALBOX_LIMIT(name) result[#name] = static_cast<std::int64_t>(limits::name)
  SIGNALBOX_LIMIT(record_bytes_max);
  SIGNALBOX_LIMIT(redacted_growth_bytes_max);
  SIGNALBOX_LIMIT(goal_bytes_max);
  SIGNALBOX_LIMIT(input_bytes_max);
  SIGNALBOX_LIMIT(name_bytes_max);
  SIGNALBOX_LIMIT(path_bytes_max);
  SIGNALBOX_LIMIT(command_id_bytes_max);
  SIGNALBOX_LIMIT(reason_bytes_max);
  SIGNALBOX_LIMIT(labels_max);
  SIGNALBOX_LIMIT(label_bytes_max);
  SIGNALBOX_LIMIT(run_records_max);
  SIGNALBOX_LIMIT(stations_max);
  SIGNALBOX_LIMIT(pipeline_bytes_max);
  SIGNALBOX_LIMIT(retries_max);
  SIGNALBOX_LIMIT(create_pr_retries_max);
  SIGNALBOX_LIMIT(strategies_max);
  SIGNALBOX_LIMIT(stall_actions_max);
  SIGNALBOX_LIMIT(usage_max);
  SIGNALBOX_LIMIT(checks_max);
  SIGNALBOX_LIMIT(plan_steps_max);
  SIGNALBOX_LIMIT(explored_files_max);
  SIGNALBOX_LIMIT(data_lock_wait_ms_max);
  SIGNALBOX_LIMIT(log_check_interval_ms_max);
  SIGNALBOX_LIMIT(read_models_check_interval_ms_max);
  SIGNALBOX_LIMIT(read_models_start_wait_ms_max);
  SIGNALBOX_LIMIT(lane_hang_ms_max);
  SIGNALBOX_LIMIT(lane_waiting_max);
  SIGNALBOX_LIMIT(lane_threads_max);
  SIGNALBOX_LIMIT(disk_threads_max);
  SIGNALBOX_LIMIT(repositories_working_max);
  SIGNALBOX_LIMIT(files_working_max);
  SIGNALBOX_LIMIT(log_readers_max);
  SIGNALBOX_LIMIT(local_jobs_working_max);
  SIGNALBOX_LIMIT(remote_jobs_working_max);
  SIGNALBOX_LIMIT(endpoint_working_max);
  SIGNALBOX_LIMIT(remote_refused_ms_max);
  SIGNALBOX_LIMIT(project_put_ms_max);
  SIGNALBOX_LIMIT(repository_check_ms_max);
  SIGNALBOX_LIMIT(policy_read_ms_max);
  SIGNALBOX_LIMIT(job_trouble_shown_ms_max);
  SIGNALBOX_LIMIT(job_troubles_max);
  SIGNALBOX_LIMIT(policy_git_ms_max);
  SIGNALBOX_LIMIT(worktree_removal_ms_max);
  SIGNALBOX_LIMIT(run_roots_start_wait_ms_max);
  SIGNALBOX_LIMIT(run_roots_max);
  SIGNALBOX_LIMIT(run_root_read_ms_max);
  SIGNALBOX_LIMIT(run_root_write_ms_max);
  SIGNALBOX_LIMIT(run_root_removal_ms_max);
  SIGNALBOX_LIMIT(stop_ms_max);
  SIGNALBOX_LIMIT(stop_threads_ms_max);
  SIGNALBOX_LIMIT(stop_answers_ms_max);
  SIGNALBOX_LIMIT(stop_writes_ms_max);
  SIGNALBOX_LIMIT(backlog_read_events_max);
  SIGNALBOX_LIMIT(backlog_sent_events_max);
  SIGNALBOX_LIMIT(backlog_readers_max);
  SIGNALBOX_LIMIT(broadcast_history_events_max);
  SIGNALBOX_LIMIT(past_worlds_max);
  SIGNALBOX_LIMIT(past_questions_max);
  SIGNALBOX_LIMIT(past_forward_events_max);
  SIGNALBOX_LIMIT(past_kept_worlds_max);
  SIGNALBOX_LIMIT(past_kept_world_bytes_max);
  SIGNALBOX_LIMIT(attention_failed_run_ms_max);
  SIGNALBOX_LIMIT(attention_failed_runs_max);
  SIGNALBOX_LIMIT(attention_failures_examined_max);
  SIGNALBOX_LIMIT(attention_loop_overdue_ms_min);
  SIGNALBOX_LIMIT(report_records_max);
  SIGNALBOX_LIMIT(reports_waiting_max);
  SIGNALBOX_LIMIT(report_hang_ms_max);
  SIGNALBOX_LIMIT(what_if_working_max);
  SIGNALBOX_LIMIT(what_if_waiting_max);
  SIGNALBOX_LIMIT(what_if_all_waiting_max);
  SIGNALBOX_LIMIT(what_if_ms_max);
  SIGNALBOX_LIMIT(what_if_memory_bytes_max);
  SIGNALBOX_LIMIT(what_if_policy_bytes_max);
  SIGNALBOX_LIMIT(git_ms_max);
  SIGNALBOX_LIMIT(git_grace_ms_max);
  SIGNALBOX_LIMIT(repository_wait_ms_max);
  SIGNALBOX_LIMIT(remote_answer_ms_max);
  SIGNALBOX_LIMIT(base_fetch_ms_max);
  SIGNALBOX_LIMIT(remote_refs_ms_max);
  SIGNALBOX_LIMIT(removal_git_ms_max);
  SIGNALBOX_LIMIT(hook_files_max);
  SIGNALBOX_LIMIT(hooks_bytes_max);
  SIGNALBOX_LIMIT(submodules_ms_max);
  SIGNALBOX_LIMIT(run_diff_ms_max);
  SIGNALBOX_LIMIT(run_diff_git_ms_max);
  SIGNALBOX_LIMIT(left_out_bytes_max);
  SIGNALBOX_LIMIT(committed_file_bytes_max);
  SIGNALBOX_LIMIT(large_files_max);
  SIGNALBOX_LIMIT(submodules_max);
  SIGNALBOX_LIMIT(submodule_depth_max);
  SIGNALBOX_LIMIT(submodule_directories_depth_max);
  SIGNALBOX_LIMIT(submodule_tags_max);
  SIGNALBOX_LIMIT(walked_entries_max);
  SIGNALBOX_LIMIT(worktree_index_bytes_max);
  SIGNALBOX_LIMIT(left_out_refs_max);
  SIGNALBOX_LIMIT(worktree_tips_max);
  SIGNALBOX_LIMIT(worktree_log_bytes_max);
  SIGNALBOX_LIMIT(alternates_depth_max);
  SIGNALBOX_LIMIT(fence_check_ms_max);
  SIGNALBOX_LIMIT(summary_bytes_max);
  SIGNALBOX_LIMIT(logs_inline_bytes_max);
  SIGNALBOX_LIMIT(metadata_bytes_max);
  SIGNALBOX_LIMIT(plan_bytes_max);
  SIGNALBOX_LIMIT(step_id_bytes_max);
  SIGNALBOX_LIMIT(exploration_bytes_max);
  SIGNALBOX_LIMIT(artifacts_max);
  SIGNALBOX_LIMIT(stored_artifacts_max);
  SIGNALBOX_LIMIT(artifact_bytes_max);
  SIGNALBOX_LIMIT(artifact_inline_bytes_max);
  SIGNALBOX_LIMIT(artifact_store_stall_ms_max);
  SIGNALBOX_LIMIT(artifact_store_working_max);
  SIGNALBOX_LIMIT(artifact_store_working_of_caller_max);
  SIGNALBOX_LIMIT(artifact_store_answer_ms_max);
  SIGNALBOX_LIMIT(past_artifact_ms_max);
  SIGNALBOX_LIMIT(artifact_copies_max);
  SIGNALBOX_LIMIT(artifact_copies_of_caller_max);
  SIGNALBOX_LIMIT(agent_log_interval_ms_min);
  SIGNALBOX_LIMIT(agent_log_excerpt_bytes_max);
  SIGNALBOX_LIMIT(agent_log_look_bytes_max);
  SIGNALBOX_LIMIT(agent_log_subscriber_bytes_per_second_max);
  SIGNALBOX_LIMIT(agent_log_outgoing_bytes_max);
  SIGNALBOX_LIMIT(lease_ms_min);
  SIGNALBOX_LIMIT(lease_ms_max);
  SIGNALBOX_LIMIT(lock_lease_ms_default);
  SIGNALBOX_LIMIT(tick_lease_ms_default);
  SIGNALBOX_LIMIT(unrecorded_renewal_ms_max);
  SIGNALBOX_LIMIT(lock_linger_ms_max);
  SIGNALBOX_LIMIT(foreign_marker_fresh_ms_max);
  SIGNALBOX_LIMIT(clock_difference_ms_max);
  SIGNALBOX_LIMIT(foreign_lock_ahead_ms_max);
  SIGNALBOX_LIMIT(marker_bytes_max);
  SIGNALBOX_LIMIT(locks_max);
  SIGNALBOX_LIMIT(locks_of_sender_max);
  SIGNALBOX_LIMIT(locks_of_job_max);
  SIGNALBOX_LIMIT(loops_max);
  SIGNALBOX_LIMIT(loops_of_sender_max);
  SIGNALBOX_LIMIT(loops_of_job_max);
  SIGNALBOX_LIMIT(recovered_items_max);
  SIGNALBOX_LIMIT(evidence_bytes_max);
  SIGNALBOX_LIMIT(claim_wait_ms_max);
  SIGNALBOX_LIMIT(lock_wait_ms_max);
  SIGNALBOX_LIMIT(defer_ms_max);
  SIGNALBOX_LIMIT(timeout_ms_max);
  SIGNALBOX_LIMIT(backoff_ms_max);
  SIGNALBOX_LIMIT(remembered_commands_max);
  SIGNALBOX_LIMIT(remembered_ended_runs_max);
  SIGNALBOX_LIMIT(remembered_ended_locks_max);
  SIGNALBOX_LIMIT(failing_owners_max);
  SIGNALBOX_LIMIT(idle_pipelines_max);
  SIGNALBOX_LIMIT(verifier_key_bytes_max);
  SIGNALBOX_LIMIT(access_tokens_max);
  SIGNALBOX_LIMIT(decided_runners_max);
  SIGNALBOX_LIMIT(access_token_life_ms_min);
  SIGNALBOX_LIMIT(access_token_life_ms_max);
  SIGNALBOX_LIMIT(denial_streaks_max);
  SIGNALBOX_LIMIT(denial_streak_ms_max);
  SIGNALBOX_LIMIT(projects_max);
  SIGNALBOX_LIMIT(open_cards_max);
  SIGNALBOX_LIMIT(card_title_bytes_max);
  SIGNALBOX_LIMIT(card_brief_bytes_max);
  SIGNALBOX_LIMIT(card_priority_max);
  SIGNALBOX_LIMIT(held_cards_max);
  SIGNALBOX_LIMIT(card_merges_max);
  SIGNALBOX_LIMIT(card_checked_merges_max);
  SIGNALBOX_LIMIT(retried_cards_max);
  SIGNALBOX_LIMIT(prune_after_ms_default);
  SIGNALBOX_LIMIT(trace_span_events_max);
  SIGNALBOX_LIMIT(cell_beat_ms_default);
  SIGNALBOX_LIMIT(cell_beat_after_ms_default);
  SIGNALBOX_LIMIT(cell_poll_ms_default);
  SIGNALBOX_LIMIT(cell_append_wait_ms_max);
  SIGNALBOX_LIMIT(cell_lease_ms_max);
  SIGNALBOX_LIMIT(cell_silence_ms_max);
  SIGNALBOX_LIMIT(cell_reading_gap_ms_max);
  SIGNALBOX_LIMIT(cell_lag_noted_min);
  SIGNALBOX_LIMIT(cell_successor_ms_max);
  SIGNALBOX_LIMIT(cell_clock_ms_max);
  SIGNALBOX_LIMIT(cell_report_ms_default);
  SIGNALBOX_LIMIT(cell_gone_ms_max);
  SIGNALBOX_LIMIT(cell_upgrade_report_ms_max);
  SIGNALBOX_LIMIT(cell_look_ms_default);
  SIGNALBOX_LIMIT(cell_denied_ms_max);
  SIGNALBOX_LIMIT(cell_loss_ms_min);
  SIGNALBOX_LIMIT(cell_call_ms_max);
  SIGNALBOX_LIMIT(cell_report_call_ms_max);
  SIGNALBOX_LIMIT(untold_usage_tries_max);
  SIGNALBOX_LIMIT(untold_usage_jobs_max);
  SIGNALBOX_LIMIT(cell_trim_ms_default);
  SIGNALBOX_LIMIT(cell_trim_links_max);
  SIGNALBOX_LIMIT(cell_trim_failures_max);
  SIGNALBOX_LIMIT(redaction_servers_ms_max);
  SIGNALBOX_LIMIT(runners_max);
  SIGNALBOX_LIMIT(caller_runners_max);
  SIGNALBOX_LIMIT(runner_slots_max);
  SIGNALBOX_LIMIT(runner_lease_ms_min);
  SIGNALBOX_LIMIT(runner_lease_ms_default);
  SIGNALBOX_LIMIT(runner_lease_ms_max);
  SIGNALBOX_LIMIT(runner_wait_ms_max);
  SIGNALBOX_LIMIT(runner_name_bytes_max);
  SIGNALBOX_LIMIT(runner_labels_max);
  SIGNALBOX_LIMIT(runner_repositories_max);
  SIGNALBOX_LIMIT(runner_repositories_bytes_max);
  SIGNALBOX_LIMIT(runner_jobs_max);
  SIGNALBOX_LIMIT(runner_orders_max);
  SIGNALBOX_LIMIT(runner_runs_max);
  SIGNALBOX_LIMIT(runner_output_bytes_max);
  SIGNALBOX_LIMIT(runner_output_ms_max);
  SIGNALBOX_LIMIT(escaped_pids_max);
  SIGNALBOX_LIMIT(upload_piece_bytes_max);
  SIGNALBOX_LIMIT(upload_url_ms_max);
  SIGNALBOX_LIMIT(bundled_artifact_bytes_max);
  SIGNALBOX_LIMIT(trace_batch_spans_max);
  SIGNALBOX_LIMIT(trace_batch_bytes_max);
  SIGNALBOX_LIMIT(trace_batch_events_max);
  SIGNALBOX_LIMIT(trace_open_runs_max);
  SIGNALBOX_LIMIT(trace_request_ms_max);
  SIGNALBOX_LIMIT(trace_backoff_ms_min);
  SIGNALBOX_LIMIT(trace_backoff_ms_max);
  SIGNALBOX_LIMIT(trace_retry_after_ms_max);
  SIGNALBOX_LIMIT(trace_failing_tries_max);
  SIGNALBOX_LIMIT(trace_headers_bytes_max);
  SIGNALBOX_LIMIT(trace_certificates_bytes_max);
  SIGNALBOX_LIMIT(trace_backfill_ms_max);
#undef SIGNALBOX_LIMIT
  result["held_read_models_bytes_max"] = BufferingTable::held_bytes_max;
  result["run_list_rows_max"] = run_list_rows_max;
  result["run_list_looked_at_max"] = run_list_looked_at_max;
  result["lock_list_rows_max"] = lock_list_rows_max;
  result["plan_list_rows_max"] = plan_list_rows_max;
  result["tick_list_rows_max"] = tick_list_rows_max;
  result["strategy_list_rows_max"] = strategy_list_rows_max;
  result["project_list_rows_max"] = project_list_rows_max;
  result["log_marks_rows_max"] = log_marks_rows_max;
  result["histogram_buckets_max"] = histogram_buckets_max;
  result["report_spans_max"] = report_spans_max;
  result["timeline_rows_max"] = timeline_rows_max;
  result["timeline_run_ms_max"] = timeline_run_ms_max;
  result["timeline_holds_max"] = timeline_holds_max;
  result["timeline_columns_max"] = timeline_columns_max;
  result["run_log_bytes_max"] = run_log_bytes_max;
  result["run_change_bytes_max"] = run_change_bytes_max;
  result["board_get_cards_max"] = board_get_cards_max;
  result["card_list_rows_max"] = card_list_rows_max;
  result["runner_upload_bytes_max"] = runner_upload_bytes_max;
  result["runner_upload_bytes_min"] = runner_upload_bytes_min;
  result["attention_list_rows_max"] = attention_list_rows_max;
  result["attention_proposals_max"] = attention_proposals_max;
  result["in_flight_rows_max"] = in_flight_rows_max;
  result["events_read_rows_max"] = events_read_rows_max;
  result["id_tail_digits_min"] = id_tail_digits_min;
  result["id_tail_rows_max"] = id_tail_rows_max;
  result["line_bytes_max"] = line_bytes_max;
  result["request_id_bytes_max"] = request_id_bytes_max;
  result["json_depth_max"] = json_depth_max;
  result["commands_in_flight_max"] = commands_in_flight_max;
  result["queries_in_flight_max"] = queries_in_flight_max;
  result["read_model_queries_of_caller_max"] = read_model_queries_of_caller_max;
  result["outgoing_bytes_max"] = outgoing_bytes_max;
  result["small_answer_bytes_max"] = small_answer_bytes_max;
  result["line_ms_max"] = line_ms_max;
  result["unread_ms_max"] = unread_ms_max;
  result["connections_max"] = api.facts.connections_max;
  result["retention_housekeeping_records_min"] = limits::housekeeping_records_min;
  result["dropped_run_keys_max"] = limits::dropped_run_keys_max;
  result["retention_plans_max"] = limits::retention_plans_max;
  result["file_retention_rows_max"] = limits::file_retention_rows_max;
  result["file_retention_rounds_max"] = limits::file_retention_rounds_max;
  result["file_retention_artifacts_ms_max"] = limits::file_retention_artifacts_ms_max;
  result["file_retention_compared_max"] = limits::file_retention_compared_max;
  result["partly_kept_runs_max"] = limits::partly_kept_runs_max;
  result["file_retention_refs_max"] = limits::file_retention_refs_max;
  result["dropped_run_markers_max"] = limits::dropped_run_markers_max;
  result["run_repositories_bytes_max"] = limits::run_repositories_bytes_max;
  result["owner_connections_max"] = owner_connections_max;
  result["caller_connections_max"] = api.facts.caller_connections_max;
  result["newcomers_max"] = newcomers_max;
  result["newcomers_per_second_max"] = newcomers_per_second_max;
  result["newcomer_burst_bytes_max"] = newcomer_burst_bytes_max;
  result["newcomer_pause_ms_min"] = newcomer_pause_ms_min;
  result["tls_newcomers_max"] = tls_newcomers_max;
  result["first_request_ms_max"] = first_request_ms_max;
  result["buffered_bytes_max"] = buffered_bytes_max;
  result["caller_buffered_bytes_max"] = caller_buffered_bytes_max;
  result["newcomers_buffered_bytes_max"] = newcomers_buffered_bytes_max;
  result["stalled_ms_min"] = stalled_ms_min;
  result["caller_subscriptions_max"] = caller_subscriptions_max;
  result["owner_subscriptions_max"] = owner_subscriptions_max;
  result["file_descriptors_max"] = file_descriptors_max;
  result["refusals_log_ms_min"] = refusals_log_ms_min;
  result["waiting_claims_max"] = waiting_claims_max;
  result["waiting_of_sender_max"] = waiting_of_sender_max;
  result["waiting_of_job_max"] = waiting_of_job_max;
  result["waiting_locks_max"] = waiting_locks_max;
  result["waiting_step_workers_max"] = waiting_step_workers_max;
  result["policy_file_bytes_max"] = policy_file_bytes_max;
  result["policy_warnings_max"] = policy_warnings_max;
  result["policy_agents_max"] = policy_agents_max;
  result["policy_retry_minutes_max"] = policy_retry_minutes_max;
  result["policy_attempts_max"] = policy_attempts_max;
  result["policy_agent_timeout_minutes_max"] = policy_agent_timeout_minutes_max;
  result["http_header_bytes_max"] = http_header_bytes_max;
  result["http_header_fields_max"] = http_header_fields_max;
  result["empty_lines_bytes_max"] = empty_lines_bytes_max;
  result["http_header_ms_max"] = http_header_ms_max;
  result["http_body_ms_max"] = http_body_ms_max;
  result["http_idle_ms_max"] = http_idle_ms_max;
  result["http_write_ms_max"] = http_write_ms_max;
  result["first_byte_ms_max"] = first_byte_ms_max;
  result["tls_handshake_ms_max"] = tls_handshake_ms_max;
  result["tls_drain_ms_max"] = tls_drain_ms_max;
  result["tls_close_ms_max"] = tls_close_ms_max;
  result["settings_read_ms_max"] = settings_read_ms_max;
  result["tls_file_bytes_max"] = tls_file_bytes_max;
  result["event_stream_heartbeat_ms_max"] = event_stream_heartbeat_ms_max;
  result["subscriptions_max"] = subscriptions_max;
  result["subscriber_lag_events_max"] = subscriber_lag_events_max;
  call.responder.result(std::move(result));
}

}  // namespace signalbox
