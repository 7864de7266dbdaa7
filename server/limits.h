// The bounds of the server, each with its unit in its name; domain/limits.h has the bounds of
// commands, followers/traces/trace_limits.h those of the export of traces. Every folder of the
// server may include this file. The method `server.limits` reports all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox {

// Limits of one connection.
// A request line, and the body of an HTTP request.
inline constexpr std::size_t line_bytes_max = 1024 * 1024;
// The id of a request, as JSON.
inline constexpr std::size_t request_id_bytes_max = 256;
// Unanswered commands. Reading pauses at this number and resumes when some are answered.
inline constexpr std::size_t commands_in_flight_max = 1024;
// Unanswered queries: fewer than commands, because a query may take long and its answer be large.
inline constexpr std::size_t queries_in_flight_max = 8;
// Queries of one caller that are with the read models' thread; the caller's others wait.
inline constexpr std::size_t read_model_queries_of_caller_max = 4;
// Requests of one sender, and of one job, that wait in a queue: for a station, a step or a lock.
inline constexpr std::size_t waiting_of_sender_max = 8'000;
inline constexpr std::size_t waiting_of_job_max = 16;
// The weight of a query against commands_in_flight_max.
inline constexpr std::size_t query_weight = commands_in_flight_max / queries_in_flight_max;
// Unsent output. Reading pauses at this size and resumes when the peer has read it.
inline constexpr std::size_t outgoing_bytes_max = 1024 * 1024;
// A connection that gets an answer larger than this has one query under way at a time.
inline constexpr std::size_t small_answer_bytes_max = 64 * 1024;
// Time for a line to be complete, counted from its first byte.
inline constexpr std::int64_t line_ms_max = 60'000;
// Time in which the peer has to read some of the output that waits for it.
inline constexpr std::int64_t unread_ms_max = 60'000;

// Connections of all listeners and protocols together. server/transport/http/admission.h says which
// one makes room when one of these limits is reached.
// Open ones; the setting connections_max.
inline constexpr std::size_t connections_max = 4096;
// The part of them that only the server's own user and root on the Unix socket get.
inline constexpr std::size_t owner_connections_max = 64;
// Connections of one caller (an access token, a user or an address) that authenticated; the setting
// caller_connections_max.
inline constexpr std::size_t caller_connections_max = 1024;
// Connections over TCP that haven't authenticated, and for each user those that sent no request.
inline constexpr std::size_t newcomers_max = 512;
// New connections over TCP a second while newcomers_max is reached. Others wait in the kernel's
// queue.
inline constexpr std::size_t newcomers_per_second_max = 2'000;
// Bytes of a first line that are read at once. The rest of a longer one, if it isn't the server's
// own user's, is read in pieces of 64 KiB with this pause between two.
inline constexpr std::size_t newcomer_burst_bytes_max = 16 * 1024;
inline constexpr std::int64_t newcomer_pause_ms_min = 50;
// Newcomers at an address with TLS: each may take a handshake, and its memory.
inline constexpr std::size_t tls_newcomers_max = 128;
// Time for the first authenticated request, counted from the connection or from the last answer
// that needed no authentication.
inline constexpr std::int64_t first_request_ms_max = 30'000;
// Incomplete requests and unread answers that are kept: of all connections, of one caller's, and of
// those that haven't authenticated.
inline constexpr std::size_t buffered_bytes_max = 48 * 1024 * 1024;
inline constexpr std::size_t caller_buffered_bytes_max = 24 * 1024 * 1024;
inline constexpr std::size_t newcomers_buffered_bytes_max = 12 * 1024 * 1024;
// Time without reading after which a connection goes first when there are too many of these bytes.
inline constexpr std::int64_t stalled_ms_min = 1'000;
// Subscriptions of one caller.
inline constexpr std::size_t caller_subscriptions_max = 200;
// The part of subscriptions_max that only the server's own user and root get.
inline constexpr std::size_t owner_subscriptions_max = 50;
// Descriptors that connections leave to the log, the jobs and other files.
inline constexpr std::size_t file_descriptors_max = 512;
// Interval between two lines of the log about refused connections.
inline constexpr std::int64_t refusals_log_ms_min = 10'000;

static_assert(newcomers_max + owner_connections_max < connections_max);
static_assert(newcomers_buffered_bytes_max < caller_buffered_bytes_max);
static_assert(caller_buffered_bytes_max < buffered_bytes_max);

// HTTP and TLS.
inline constexpr std::size_t http_header_bytes_max = 16 * 1024;
inline constexpr std::size_t http_header_fields_max = 100;
// Empty bytes before a request line or the first line of JSON-RPC.
inline constexpr std::size_t empty_lines_bytes_max = 1024;
// Time for a whole request header, counted from its first byte, so that a client that sends a byte
// now and then (slowloris) is disconnected.
inline constexpr std::int64_t http_header_ms_max = 10'000;
inline constexpr std::int64_t http_body_ms_max = 60'000;
// Idle time between two requests of one connection.
inline constexpr std::int64_t http_idle_ms_max = 75'000;
// Time for the peer to read a response, or one chunk of a large one.
inline constexpr std::int64_t http_write_ms_max = 60'000;
// Time for a new connection to send its first byte. It doesn't apply to the server's own user.
inline constexpr std::int64_t first_byte_ms_max = 10'000;
inline constexpr std::int64_t tls_handshake_ms_max = 10'000;
// Time that a stop waits for TLS connections to send what they have.
inline constexpr std::int64_t tls_drain_ms_max = 1'000;
// Time for the exchange of close_notify.
inline constexpr std::int64_t tls_close_ms_max = 5'000;
// Time in which the files of a reload have to be read.
inline constexpr std::int64_t settings_read_ms_max = 10'000;
// Size of a certificate's file with its chain, and of a key's file.
inline constexpr std::size_t tls_file_bytes_max = 1024 * 1024;
// Interval of the comment that keeps an idle event stream open.
inline constexpr std::int64_t event_stream_heartbeat_ms_max = 15'000;

}  // namespace signalbox

namespace signalbox::limits {

// Time that a start waits for the lock of its data directory. A child that the process before was
// starting when it was killed shares the lock for moments, until it begins its program.
inline constexpr std::int64_t data_lock_wait_ms_max = 1000;

// Interval between two readings of all tables of the log, which find what isn't as written.
inline constexpr std::int64_t log_check_interval_ms_max = 24LL * 60 * 60 * 1000;

// The read models.
// Interval between two readings of all their files, which find blocks that aren't as written.
inline constexpr std::int64_t read_models_check_interval_ms_max = 60LL * 60 * 1000;
// Time that a start waits for damaged read models before it listens; then they are rebuilt while
// the service goes on.
inline constexpr std::int64_t read_models_start_wait_ms_max = 2000;

// Work that may hang on a disk, a repository or an endpoint runs in lanes (platform/lane_pool.h).
// Time after which a thread that hasn't finished its work no longer counts as working, so that
// another one may take its place.
inline constexpr std::int64_t lane_hang_ms_max = 2000;
// Pieces of work that wait in one lane, for callers that can be refused.
inline constexpr std::size_t lane_waiting_max = 64;
// Threads of each kind of work, hanging ones included. Beyond them, callers are refused.
inline constexpr std::size_t lane_threads_max = 64;
// The part of them that one disk of run roots may take, other than the root file system.
inline constexpr std::size_t disk_threads_max = 16;
// Threads that work at the same time: at git, at files, at reading old events.
inline constexpr std::size_t repositories_working_max = 4;
inline constexpr std::size_t files_working_max = 4;
inline constexpr std::size_t log_readers_max = 2;
// Threads that call executors: for jobs of this machine, for remote ones, and of these for one
// endpoint.
inline constexpr std::size_t local_jobs_working_max = 2;
inline constexpr std::size_t remote_jobs_working_max = 8;
inline constexpr std::size_t endpoint_working_max = 4;
// Time for which an endpoint may refuse every question about a job, as with a wrong key, before the
// job fails.
inline constexpr std::int64_t remote_refused_ms_max = 15LL * 60 * 1000;
// Time in which `project.put` is answered, and the part of it for git.
inline constexpr std::int64_t project_put_ms_max = 10'000;
inline constexpr std::int64_t repository_check_ms_max = 7000;
// Time to read one repository's HEARTBEAT.md, from the beginning of its reading, and the part of it
// for git.
inline constexpr std::int64_t policy_read_ms_max = 6000;
inline constexpr std::int64_t policy_git_ms_max = 3000;
// A store of objects for artifacts.
// Time without a byte in either direction, or to connect, after which a request has failed.
inline constexpr std::int64_t artifact_store_stall_ms_max = 10'000;
// Threads that wait for it to answer queries and completions, those of them that one caller gets,
// and the time after which those who asked are refused.
inline constexpr std::size_t artifact_store_working_max = 8;
inline constexpr std::size_t artifact_store_working_of_caller_max = artifact_store_working_max / 2;
inline constexpr std::int64_t artifact_store_answer_ms_max = 90'000;
// Time for which a query about the past waits for it. All of these have one thread.
inline constexpr std::int64_t past_artifact_ms_max = 5000;
// Artifacts of it that are copied to the disk at the same time, each until it was downloaded, and
// those of one caller.
inline constexpr std::size_t artifact_copies_max = 16;
inline constexpr std::size_t artifact_copies_of_caller_max = artifact_copies_max / 2;
// Age up to which run.why shows a failed call for a job, longer than the pause before the next
// call.
inline constexpr std::int64_t job_trouble_shown_ms_max = 3 * 60 * 1000;
// Jobs of which the latest failed call is kept.
inline constexpr std::size_t job_troubles_max = 4096;
// Time for all git commands together that remove or list worktrees of one repository.
inline constexpr std::int64_t worktree_removal_ms_max = 10LL * 60 * 1000;
// Time that a start waits until it is known where the configured run roots lead.
inline constexpr std::int64_t run_roots_start_wait_ms_max = 2000;
// Directories that the setting run_roots names.
inline constexpr std::size_t run_roots_max = 64;
// Time to check where a run root lies or to read a lock or a marker there, and to write a file; at
// a stop, to write all files that are left in run roots.
inline constexpr std::int64_t run_root_read_ms_max = 5000;
inline constexpr std::int64_t run_root_write_ms_max = 4000;
// Time to remove one run's files and worktree from a run root that a client named.
inline constexpr std::int64_t run_root_removal_ms_max = 2LL * 60 * 1000;
// Time from SIGTERM to the end of the process, and the part of it in which threads end after the
// last event.
inline constexpr std::int64_t stop_ms_max = 9000;
inline constexpr std::int64_t stop_threads_ms_max = 4000;
// Time from SIGTERM in which requests under way are still answered.
inline constexpr std::int64_t stop_answers_ms_max = 3000;
// The part of that for threads that write in run roots: those still there are late already.
inline constexpr std::int64_t stop_writes_ms_max = 1000;

// Subscriptions that read old events.
// Events that are read, and events that are sent, before the next subscription has its turn.
inline constexpr std::size_t backlog_read_events_max = 1024;
inline constexpr std::size_t backlog_sent_events_max = 32;
// Subscriptions whose events are read at the same time.
inline constexpr std::size_t backlog_readers_max = 2;
// Events before the start of a subscription that its broadcasts are derived from.
inline constexpr std::size_t broadcast_history_events_max = 1000;

// Queries about the past (`at`).
// Past worlds that are remembered, and the queries that wait for them.
inline constexpr std::size_t past_worlds_max = 4;
inline constexpr std::size_t past_questions_max = 64;
// Events by which a remembered world goes on to a later moment; beyond them, one is made anew.
inline constexpr std::uint64_t past_forward_events_max = 10'000;
// Worlds that are kept on the disk for that, and their bytes.
inline constexpr std::size_t past_kept_worlds_max = 64;
inline constexpr std::size_t past_kept_world_bytes_max = 512 * 1024 * 1024;

// What waits for a person (attention.list).
// Time for which a failed run waits for a person, how many of them wait, and among how many
// failures, most of which may be those of cards, they are found.
inline constexpr std::int64_t attention_failed_run_ms_max = 24LL * 60 * 60 * 1000;
inline constexpr std::size_t attention_failed_runs_max = 1000;
inline constexpr std::size_t attention_failures_examined_max = 10'000;
// Time after which a loop of the service that was due, and hasn't ticked since, waits for a person,
// as does work that no runner takes.
inline constexpr std::int64_t attention_loop_overdue_ms_min = 30 * 60 * 1000;

// Records that one report.get reads: the newest of its period.
inline constexpr std::uint64_t report_records_max = 1'000'000;
// Reports of all callers that wait, and the time after which one that is being made counts as
// hanging.
inline constexpr std::size_t reports_waiting_max = 256;
inline constexpr std::int64_t report_hang_ms_max = 60'000;

// Forecasts (what_if.run), each in a process of its own.
// Forecasts that are made at the same time, and forecasts of one caller that wait for that.
inline constexpr std::size_t what_if_working_max = 1;
inline constexpr std::size_t what_if_waiting_max = 2;
// Waiting forecasts of all callers, since one client may come under many addresses.
inline constexpr std::size_t what_if_all_waiting_max = 16;
// Time and resident memory of one forecast, and the size of its policy.
inline constexpr std::int64_t what_if_ms_max = 60'000;
inline constexpr std::size_t what_if_memory_bytes_max = 1024UL * 1024 * 1024;
inline constexpr std::size_t what_if_policy_bytes_max = 64UL * 1024;

// Git.
// Time for one git command of a station, such as the checkout of a worktree or a push, and for each
// of the server's own within the bounds above; then its whole process group is killed.
inline constexpr std::int64_t git_ms_max = 10LL * 60 * 1000;
// The part of it between TERM and KILL, in which git removes its lock files.
inline constexpr std::int64_t git_grace_ms_max = 2000;
// Time that a worktree operation waits for another one in the same repository.
inline constexpr std::int64_t repository_wait_ms_max = 60 * 1000;
// Time for a remote to say where the base of a new run is, and then for the fetch of its commits:
// a run begins without a remote that can't be reached.
inline constexpr std::int64_t remote_answer_ms_max = 3000;
inline constexpr std::int64_t base_fetch_ms_max = 2LL * 60 * 1000;
static_assert(remote_answer_ms_max + git_grace_ms_max <= 5000);
// Time for a remote to list the branches of runs, and to remove some.
inline constexpr std::int64_t remote_refs_ms_max = 30 * 1000;
// Time for one git command of the server itself while it removes a worktree.
inline constexpr std::int64_t removal_git_ms_max = 2LL * 60 * 1000;
// Files and directories below a repository's hooks, and their bytes, when it is pinned for a run.
inline constexpr std::size_t hook_files_max = 1000;
inline constexpr std::uintmax_t hooks_bytes_max = 16UL * 1024 * 1024;
// Time for the checkout of all submodules of a new worktree.
inline constexpr std::int64_t submodules_ms_max = 2LL * 60 * 1000;
// Time for an answer about a run's change, and the part of it for git.
inline constexpr std::int64_t run_diff_ms_max = 10'000;
inline constexpr std::int64_t run_diff_git_ms_max = 7000;
static_assert(run_diff_git_ms_max + git_grace_ms_max < run_diff_ms_max);
// Size of the list of ignored files that a commit, or a worktree's removal, leaves out.
inline constexpr std::size_t left_out_bytes_max = 256 * 1024;
// Size of a file that create_pr commits, unless the repository's git configuration says otherwise
// (file_bytes_max_key), and files above it that are named.
inline constexpr std::uint64_t committed_file_bytes_max = 50ULL * 1024 * 1024;
inline constexpr std::size_t large_files_max = 100;
// Submodules of a worktree that a commit of its changes can hold.
inline constexpr std::size_t submodules_max = 1000;
// Levels of submodules below a submodule that are looked into, and of directories below a git
// directory's `modules`, where names of submodules may have slashes.
inline constexpr std::size_t submodule_depth_max = 8;
inline constexpr std::size_t submodule_directories_depth_max = 32;
// Tags of a submodule, the newest, that are recorded when it is checked out.
inline constexpr std::size_t submodule_tags_max = 4000;
// Files and directories of a worktree, without ignored directories, among which repositories that
// git doesn't list are looked for.
inline constexpr std::size_t walked_entries_max = 5'000'000;
// Size of a worktree's index that is copied, so that git's own work on it leaves the agent's alone.
inline constexpr std::size_t worktree_index_bytes_max = 256UL * 1024 * 1024;
// Refs of a run for commits that create_pr left out (left_out_refs.h).
inline constexpr std::size_t left_out_refs_max = 100;
// Commits that only a worktree refers to, and bytes of its HEAD's log in which they are looked for.
inline constexpr std::size_t worktree_tips_max = 1000;
inline constexpr std::size_t worktree_log_bytes_max = 4UL * 1024 * 1024;
// Levels of repositories that borrow objects from each other: git follows as many.
inline constexpr std::size_t alternates_depth_max = 5;
// Time that a push waits for the server's decision.
inline constexpr std::int64_t fence_check_ms_max = 10 * 1000;

// Agents' logs, as subscribers get them.
// Interval between two polls of a log that has subscribers.
inline constexpr std::int64_t agent_log_interval_ms_min = 250;
// Bytes that one poll sends of one stream: the newest, if more was written. A new subscriber gets
// at most this much of what was written before.
inline constexpr std::size_t agent_log_excerpt_bytes_max = 16 * 1024;
// Bytes that one poll reads of all logs together; the next poll begins with the logs that were
// left.
inline constexpr std::size_t agent_log_look_bytes_max = 1024 * 1024;
// Bytes that one subscriber gets of all logs together; the excess is dropped.
inline constexpr std::size_t agent_log_subscriber_bytes_per_second_max = 256 * 1024;
// A subscriber with more than this unsent gets no log output until it has read it.
inline constexpr std::size_t agent_log_outgoing_bytes_max = 256 * 1024;

static_assert(agent_log_excerpt_bytes_max <= agent_log_subscriber_bytes_per_second_max);

// Cells (server/cell): servers that share one log.
// Between two beats of the writer. One that says what was acknowledged last comes earlier, once no
// append has followed that for so long: a link that follows it says the same.
inline constexpr std::int64_t cell_beat_ms_default = 250;
inline constexpr std::int64_t cell_beat_after_ms_default = 10;
// Between two looks of a standby, each of two short queries: together with the time above, most of
// what a standby is behind.
inline constexpr std::int64_t cell_poll_ms_default = 20;
// Without a write that the log has acknowledged for so long, counted from when it was sent, a
// server no longer answers for the present.
inline constexpr std::int64_t cell_lease_ms_max = 1'000;
// Without a beat for so long a standby takes the cell: longer than the lease.
inline constexpr std::int64_t cell_silence_ms_max = 1'500;
// A standby that hasn't read the log for so long begins to count anew.
inline constexpr std::int64_t cell_reading_gap_ms_max = 500;
// A server whose replica ends so far before what was acknowledged notes that in its directory, and
// again when there is so much more.
inline constexpr std::uint64_t cell_lag_noted_min = 10'000;
// The server that a switch names has the cell to itself for so long.
inline constexpr std::int64_t cell_successor_ms_max = 3'000;
// How far the clock of a standby may be from the database's for it to take the cell.
inline constexpr std::int64_t cell_clock_ms_max = 60'000;
// Between two reports of a server about itself.
inline constexpr std::int64_t cell_report_ms_default = 5'000;
// A server that hasn't reported for so long is taken for gone, and another one may have its name.
inline constexpr std::int64_t cell_gone_ms_max = 3 * cell_report_ms_default;
// An upgrade of the cell counts every server that has reported within this time: also one that is
// being restarted.
inline constexpr std::int64_t cell_upgrade_report_ms_max = 60'000;
// Between two looks at the reports of all.
inline constexpr std::int64_t cell_look_ms_default = 1'000;
// So long a database has to show, over new connections, that it ends before what was acknowledged:
// one that was the primary and hung shows what was there before, until it is told that it isn't.
inline constexpr std::int64_t cell_loss_ms_min = 10'000;
// So long a start goes on trying while each host of the database refuses the role, its password or
// the database: longer than a node takes to get its settings or its first role.
inline constexpr std::int64_t cell_denied_ms_max = 60'000;
// Within which a call to the log has to be answered, and one that only people read of.
inline constexpr std::int64_t cell_call_ms_max = 3'000;
inline constexpr std::int64_t cell_report_call_ms_max = 400;
static_assert(cell_lease_ms_max < cell_silence_ms_max);
static_assert(cell_beat_ms_default + cell_report_call_ms_max < cell_lease_ms_max);
static_assert(cell_beat_after_ms_default < cell_beat_ms_default);

// Runners (server/runners): programs on other machines that execute jobs.
inline constexpr std::size_t runners_max = 4096;
inline constexpr std::size_t caller_runners_max = 2048;  // with one access token
inline constexpr std::int64_t runner_slots_max = 1024;
// Without a report for so long, a runner counts as lost; its own setting.
inline constexpr std::int64_t runner_lease_ms_min = 5'000;
inline constexpr std::int64_t runner_lease_ms_default = 60'000;
inline constexpr std::int64_t runner_lease_ms_max = 60 * 60'000;
// How long the answer to a report waits for something to do.
inline constexpr std::int64_t runner_wait_ms_max = 5'000;
inline constexpr std::size_t runner_name_bytes_max = 40;
inline constexpr std::size_t runner_labels_max = 64;
inline constexpr std::size_t runner_repositories_max = 256;
inline constexpr std::size_t runner_repositories_bytes_max = 16 * 1024;
// Jobs in one report: those under way, and those that are being ended.
inline constexpr std::size_t runner_jobs_max = 4096;
// Orders in one answer; the others come with the next one.
inline constexpr std::size_t runner_orders_max = 16;
// Runs of one `runner.runs`.
inline constexpr std::size_t runner_runs_max = 1000;
// One piece of what a job has printed, as its runner sends it: all that is kept beyond the head.
inline constexpr std::size_t runner_output_bytes_max = 448 * 1024;
// How long a question about the output of a job waits for its runner.
inline constexpr std::int64_t runner_output_ms_max = 3'000;
// One piece of an artifact that a runner uploads.
inline constexpr std::size_t upload_piece_bytes_max = 512 * 1024;
// How long a runner may begin to upload with a URL that it was given.
inline constexpr std::int64_t upload_url_ms_max = 5 * 60'000;
// Larger ones aren't bundled: by themselves they are stored once, whoever leaves them.
inline constexpr std::size_t bundled_artifact_bytes_max = 1024 * 1024;

static_assert(disk_threads_max > files_working_max && disk_threads_max < lane_threads_max);
static_assert(repository_check_ms_max + git_grace_ms_max < project_put_ms_max);
static_assert(policy_git_ms_max + git_grace_ms_max < policy_read_ms_max);
static_assert(run_root_write_ms_max + stop_threads_ms_max < stop_ms_max);
static_assert(stop_answers_ms_max <= run_root_write_ms_max);

}  // namespace signalbox::limits
