// The running service: owns the engine, the followers of the log and the transports, and runs them
// on one io_context thread, the engine thread.
//
// This class wires the parts (server_wiring.cc and the server_*.cc that it names), starts them
// (server.cc) and stops them (server_stop.cc). The handling of commands is in engine/, rpc/ and
// scheduler/; server/README.md describes the threads.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/logger.h>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "projections/world_digest.h"
#include "server/access/authentication.h"
#include "server/board/board_loops.h"
#include "server/cell_place.h"
#include "server/config.h"
#include "server/engine/engine.h"
#include "server/engine/recovery.h"
#include "server/engine/watchdog_pings.h"
#include "server/executors/executor_set.h"
#include "server/executors/process/process_executor.h"
#include "server/executors/remote/modal_executor.h"
#include "server/followers/event_lines.h"
#include "server/followers/log_check.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/followers/run_root/run_root_writer.h"
#include "server/followers/snapshotter.h"
#include "server/followers/traces/trace_exporter.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/certificate_watch.h"
#include "server/platform/clock.h"
#include "server/platform/machine_id.h"
#include "server/platform/service_artifacts.h"
#include "server/platform/space_watch.h"
#include "server/replay/past_worlds.h"
#include "server/retention/run_file_markers.h"
#include "server/rpc/agent_logs.h"
#include "server/rpc/askers.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/runner_outputs.h"
#include "server/rpc/runner_queue.h"
#include "server/rpc/service_metrics.h"
#include "server/rpc/step_queue.h"
#include "server/rpc/untold_usage.h"
#include "server/runners/runner_executor.h"
#include "server/runners/runner_registry.h"
#include "server/scheduler/file_retention.h"
#include "server/scheduler/followed_drops.h"
#include "server/scheduler/followed_redactions.h"
#include "server/scheduler/former_decisions.h"
#include "server/scheduler/job_pause.h"
#include "server/scheduler/job_troubles.h"
#include "server/scheduler/redactions.h"
#include "server/scheduler/retention_loop.h"
#include "server/scheduler/service_loops.h"
#include "server/scheduler/station_jobs.h"
#include "server/service_lanes.h"
#include "server/settings_reload.h"
#include "server/timer_loop.h"
#include "server/transport/listener.h"

namespace signalbox {

struct CellParts;
struct MethodParts;
struct RunnerParts;

// How run() ended, beside its exit code.
enum class ServerEnd {
  stopped,   // the process ends
  deposed,   // another server of the cell writes the log: stand by again
  switched,  // this one has let go of the cell: the same
};

class Server {
 public:
  // What the program and the data directory give beside the configuration.
  struct Given {
    const ReloadSource& reload_source;
    StageRetention stage_retention;
    Redactions::Plan plan_redaction;
    std::string job_key;        // of this data directory, or of the cell (access/secret.h)
    Stored<MachineId> machine;  // of this data directory
    // The server's place in a cell; nullptr: it alone writes its log.
    CellPlace* cell = nullptr;
    // Called on the engine thread when a failure ends the service: from now on its end is bounded.
    std::function<void(int exit_code)> failing;
  };

  // Moves the world out of `recovered` and keeps a reference to its log. The world is the fold of
  // the whole log, and `index` (the read models) is at the same position or damaged. All references
  // outlive the Server. A reload changes `config`.
  Server(Config& config, Recovered& recovered, RunIndex& index, spdlog::logger& logger,
         const Given& given);
  ~Server();

  // Blocks until a signal or a fatal error, and serves meanwhile. Returns the exit code of the
  // process.
  int run();
  // Returns after run() whether the process ends with it.
  [[nodiscard]] ServerEnd end() const { return end_; }
  // Returns after run() what its threads hang in; mostly nothing. If there is something, this
  // object must not be destroyed: the process has to end.
  [[nodiscard]] const std::vector<std::string>& hanging() const { return hanging_; }

 private:
  // What follows is in server_cell.cc.
  // Begins to follow the cell's log, without a command of its own.
  void stand_by();
  CellMember::Hooks cell_hooks();
  // Takes the time of what was followed (UTC, ns) for the one that queries show, if they show one
  // long before it.
  void show_followed(std::int64_t recorded_at_ns);
  // The cell's log is this server's to write: goes on like a start.
  void take_over();
  // Another server writes the log: ends run().
  void step_down(const std::string& why);
  // Ends run() so that `successor`, or any other server if it is empty, takes the cell.
  Decided<void> switch_over(const std::string& successor);
  // Has the cell's feature level raised, and `then` called on this thread.
  void upgrade_cell(const CellUpgraded& then);
  // Looks whether the cell's log can still be written, now and every few moments.
  void look_at_cell();
  void look_at_append();
  void watch_cell();
  [[nodiscard]] std::optional<Rejection> cell_refusal() const;
  [[nodiscard]] Rejection not_active() const;
  [[nodiscard]] Rejection log_away() const;
  CellParts cell_parts();
  // What only a server of a cell needs: it drops and redacts what others of the cell have.
  void wire_cell();
  // Returns why this server may not drop records from the cell's log now.
  [[nodiscard]] std::optional<RetentionObstacle> retention_obstacle() const;
  // Blocks until it is known which servers the cell has, a minute at most: one that has just taken
  // the cell, or whose database is slow, doesn't know it yet. Any thread.
  void await_peers_known(const std::atomic<bool>& stopped) const;
  // Returns why the servers of the cell may not compute what their logs begin with anew, each for
  // itself: which servers there are isn't known, or they have several versions.
  [[nodiscard]] std::optional<RetentionObstacle> base_obstacle() const;
  // Returns why this server may not redact that record of the cell's log now.
  [[nodiscard]] std::optional<Rejection> redaction_obstacle(const RedactionRequest& request) const;
  void wire_followed_redactions();
  // Begins what other servers of the cell have dropped or redacted, and is due here.
  void do_what_is_due();
  // Refuses to have a run retried whose records other servers have dropped.
  [[nodiscard]] std::optional<Rejection> due_drop_refusal(Position failed_at);
  [[nodiscard]] std::optional<CellView> cell_view() const;
  [[nodiscard]] StatusPart cell_status() const;
  // What follows is in server.cc.
  // Returns whether this server records and starts anything: it neither stops nor stands by.
  [[nodiscard]] bool acts() const { return !stopping_ && !stands_by_; }
  // Looks whether the clocks jumped, unless this server has no deadlines, and whether it is still
  // the writer of its cell: it may have been stopped for longer than that is certain.
  void check_clocks() {
    look_at_cell();
    if (!stands_by_) timer_loop_.check_for_clock_jump(stopping_);
  }
  // Begins an incarnation and everything that only the writer of the log does. Returns false if
  // that failed.
  bool begin_serving();
  // Applies the events of a start; after a crash, with a verdict for everything that was in flight.
  // Returns false if the crash report couldn't be written.
  bool begin_incarnation();
  // Listens on the socket, and the address if there is one. Returns false if that failed.
  bool listen();
  bool listen_over_tcp();
  // Uses this certificate for new connections and says when it ends.
  void use_tls(TlsIdentity identity);
  [[nodiscard]] StatusPart network_status() const;
  // Returns why commands are refused now; nullopt if they are accepted.
  [[nodiscard]] std::optional<Rejection> not_ready() const;
  // Restarts all deadlines and loops, and tracks the jobs that run.
  void arm();
  // Schedules one turn for all input that arrives together: dispatches ready stations, serves
  // waiting claims, then flushes the log.
  void schedule_turn();
  void turn();
  void arm_clock_timer();
  // Returns the world as the log has it, which has no space for what was applied since.
  World roll_back(const std::string& why);
  void resume_writes();  // when the disk has space again
  // Records in the log that the read models were rebuilt. Any thread.
  void note_rebuild(const Rebuild& rebuild);
  std::function<void(bool ok, const std::string& text)> log_outcome();

  // What follows is in server_wiring.cc.
  Engine::Hooks hooks();
  TimerLoop::Reports timer_loop_reports();
  Post post_to_engine();
  // Like post_to_engine(), but drops actions once the service stops: the next start does that work.
  Post post_while_serving();
  // Returns a pool over `lanes` whose continuations run on the engine thread. With `while_serving`,
  // continuations are dropped once the service stops.
  BlockingPool blocking_pool(LanePool& lanes, bool while_serving);
  // Uses the settings of a reload; `tls` is set if there is TLS.
  void apply_settings(const Config& config, const std::optional<TlsIdentity>& tls);

  // What follows is in server_methods.cc.
  Api api();
  ServiceSources service_sources();
  MethodParts method_parts();
  // Returns what answers about the past show of the present.
  [[nodiscard]] PresentFacts present_facts() const;
  AgentLogs::Context agent_log_context();

  // What follows is in server_transport.cc.
  HttpService http_service();
  // Returns the limits of connections in `config`, within the descriptors of this process.
  static Admission::Limits connection_limits(const Config& config);
  // Handles a line of `peer`, which is `caller`; `principal` is who that is, or why it is nobody.
  void handle(std::string_view line, const Caller& caller, const Decided<Principal>& principal,
              const std::shared_ptr<Peer>& peer);

  // What follows is in server_access.cc.
  // Returns the settings of authentication in `config`, with the key of the jobs' secrets.
  [[nodiscard]] Authentication::Settings access_settings(const Config& config) const;
  // Refuse what waits for callers whose tokens, or attempts, have ended, and close their
  // subscriptions.
  void end_revoked(std::span<const Record> records);
  void watch_tokens();
  void end_token(const Uuid& token_id);
  void end_jobs();
  void refuse_waiting(const std::function<bool(const std::string& actor)>& is_meant,
                      const Rejection& why);

  // What follows is in server_files.cc.
  // Notes where artifacts are for commands that read the data directory without this service.
  void note_artifacts();
  // Finds out where the configured run roots lead, each in a lane of its own. Returns what is ready
  // when one is done, or won't be.
  std::vector<std::future<void>> resolve_run_roots();
  // Returns what removes the files of runs that ended long ago; nullptr if no policy is configured.
  std::unique_ptr<FileRetention> file_retention();

  // What follows is in server_jobs.cc.
  // Returns which jobs were given to this service.
  [[nodiscard]] JobOwnership job_ownership() const;
  // Returns what gives the service's stations to executors and records what becomes of them.
  std::unique_ptr<StationJobs> station_jobs();
  // Returns what says which commit a result in the log has. Any thread calls it.
  FindDeclaredCommit commit_in_log();
  // Logs that what a job has used up isn't recorded, for good.
  void note_unrecorded(const Job& job, const std::string& why);
  // Sets these pauses in the directories of jobs, on a thread that may block.
  void set_job_pauses(std::vector<JobPause> pauses);

  // What follows is in server_runners.cc.
  void wire_runners();
  [[nodiscard]] std::shared_ptr<RunnerParts> runner_parts();
  FormerDecisions::Parts former_decisions_parts();
  // Looks at the runners' leases, and at access tokens that expire, now and each second.
  void sweep_runners();
  // Returns how the board has worktrees at runners removed.
  RemoveAtRunner removal_at_runner();
  // Gives up the worktrees of ended runs at runners that were evicted.
  void abandon_worktrees();
  // Other machines are those of the cell's other servers, or of a log that was copied.
  std::shared_ptr<BoardFiles> board_files();

  // What follows is in server_rewriting.cc.
  std::unique_ptr<RetentionLoop> retention_loop(const StageRetention& stage);
  // Has the read models computed from the log's new base and exchanged.
  Stored<void> renew_dropped_rows(const std::atomic<bool>& stopped);
  // Returns the position of the log's latest HistoryDropped, 0 for none.
  [[nodiscard]] Position latest_dropped_at() const;
  Redactions::Parts redaction_parts(const Redactions::Plan& plan);
  // Renews what was derived from the log before a redaction, and blocks until none of it is left.
  Stored<void> renew_derived(const RunRootProgress& run_roots, const std::atomic<bool>& stopped);
  // Has the read models computed from the log, and blocks until no former row is left.
  Stored<void> renew_rows(const std::atomic<bool>& stopped);

  // What follows is in server_stop.cc.
  // Returns the refusal of commands while the service stops.
  [[nodiscard]] static Rejection stopping_refusal();
  void stop(const std::string& why);
  void stop_on_signal(const std::string& name);
  void stop_if_told_before();  // while another Server of this process was there, or none
  void stop_when_idle();
  // Ends what serves and what waits, with this refusal: of a stop, or of a deposed server.
  void end_serving(const Rejection& refusal);
  // Ends run() once requests under way are answered, or their time is over.
  void stop_when_answered();
  // Requests that everything ends that runs beside the service and may take long.
  void cancel_background();
  void stop_threads();
  // End run() after a failure, which is logged; the second one is for any thread.
  void fail(int exit_code, const std::string& why);
  void fail_from_thread(const StoreError& error);

  const Config& config_;
  const std::uint64_t torn_bytes_;
  const std::string job_key_;
  const std::function<void(int exit_code)> failing_;
  RocksEventLog& log_;
  CellPlace* const cell_;  // nullptr: in no cell
  spdlog::logger& logger_;
  boost::asio::io_context io_{1};
  ServiceLanes lanes_;
  SystemClock clock_;
  EventLines event_lines_{logger_, clock_};
  RandomIdSource ids_;
  Stored<MachineId> machine_;
  ServiceArtifacts artifacts_;
  ProcessExecutor processes_;
  ModalExecutor modal_;
  RunnerRegistry runners_;
  RunnerExecutor at_runners_;
  ExecutorSet executor_;
  Engine engine_;
  FormerDecisions former_decisions_{former_decisions_parts()};
  WorldDigest digest_;
  Projector projector_;
  LogCheck log_check_;
  Snapshotter snapshotter_;
  const std::shared_ptr<RunRootRule> run_root_rule_;
  RunRootWriter run_roots_;
  TraceExporter traces_;
  ClaimQueue claims_;
  LockQueue locks_;
  StepQueue steps_;
  RunnerRemovals runner_removals_;
  RunnerQueue runner_queue_;
  RunnerOutputs runner_outputs_;
  std::int64_t expired_until_ns_ = 0;  // UTC: tokens that expired by then have ended
  // The callers that wait for reports. One that ends its output over TCP still reads the answer.
  const std::shared_ptr<Askers> report_askers_ =
      std::make_shared<Askers>(/*gives_up_doubtful=*/false);
  TimerLoop timer_loop_;
  BoardLoops board_;
  ServiceLoops loops_;
  RewritingTurn rewriting_turn_;
  std::unique_ptr<RetentionLoop> retention_;       // nullptr: no policy is configured
  std::unique_ptr<FollowedDrops> followed_drops_;  // nullptr: in no cell
  Redactions redactions_;
  std::unique_ptr<FollowedRedactions> followed_redactions_;  // nullptr: in no cell
  const RunFileMarkers file_markers_;
  std::unique_ptr<FileRetention> file_retention_;  // nullptr: no policy is configured
  EventFeed feed_;
  AgentLogs agent_logs_;
  JobTroubles job_troubles_;
  Authentication authentication_;
  ServiceMetrics metrics_;
  PastWorlds past_worlds_;
  Api api_;
  UntoldUsage untold_usage_{api_, std::bind_front(&Server::note_unrecorded, this)};
  Dispatcher dispatcher_;
  Listener listener_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer clock_timer_;
  boost::asio::steady_timer listen_timer_;
  boost::asio::steady_timer token_timer_;
  std::string listen_trouble_;  // why nobody is served at the address; empty: all are
  boost::asio::steady_timer runner_timer_;
  SpaceWatch space_watch_;
  boost::asio::steady_timer agent_log_timer_;
  boost::asio::steady_timer cell_timer_;
  boost::asio::steady_timer answers_timer_;  // of stop_when_answered()
  std::optional<TlsIdentity> tls_;           // nullopt: no TLS
  CertificateWatch certificate_watch_;
  SettingsReload settings_reload_;
  WatchdogPings watchdog_pings_{io_};
  static constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::max();
  std::int64_t clock_timer_due_ns_ = no_time;  // expiry of clock_timer_ (monotonic)
  bool turn_scheduled_ = false;
  bool jobs_have_ended_ = false;         // the next turn calls end_jobs() first
  bool stands_by_ = false;               // another server of the cell writes the log
  bool is_cell_away_ = false;            // as the writer: nothing it sends is acknowledged
  std::int64_t cell_away_since_ns_ = 0;  // monotonic
  std::string successor_;                // see switch_over()
  ServerEnd end_ = ServerEnd::stopped;
  bool stopping_ = false;
  std::int64_t answers_until_ms_ = 0;  // of a stop, on the clock of CallBounds
  bool stopped_ = false;               // ServerStopped was applied
  bool background_canceled_ = false;   // cancel_background() was called
  std::vector<std::string> hanging_;   // lanes whose threads didn't end
  int exit_code_ = 0;
  std::uint64_t incarnation_ = 0;            // the number of this start
  std::unique_ptr<StationJobs> jobs_;        // owns threads that post to io_
  std::unique_ptr<CommitThread> committer_;  // owns a thread that posts to io_
  std::unique_ptr<CellMember> member_;       // owns a thread that posts to io_
};

}  // namespace signalbox
