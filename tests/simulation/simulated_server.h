// One life of the service: everything real between the socket and the disk, on a simulated clock,
// disk and machine. Its loops and their order are the service's own (server/timer_loop.h,
// server/scheduler/incarnation.h). Wired here as in server/server.cc are only the hooks of the
// engine, the recovery from a full disk, and the stop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "projections/memory_table.h"
#include "projections/world_digest.h"
#include "server/access/authentication.h"
#include "server/board/board_loops.h"
#include "server/engine/engine.h"
#include "server/executors/executor_set.h"
#include "server/followers/projector.h"
#include "server/platform/directory_artifacts.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/dispatcher.h"
#include "server/rpc/event_feed.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/runner_queue.h"
#include "server/rpc/step_queue.h"
#include "server/runners/runner_executor.h"
#include "server/runners/runner_registry.h"
#include "server/scheduler/redactions.h"
#include "server/scheduler/retention_loop.h"
#include "server/scheduler/station_jobs.h"
#include "server/timer_loop.h"
#include "tests/simulation/run_root_files.h"
#include "tests/simulation/seeded_ids.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/simulated_machine.h"
#include "tests/simulation/simulated_repositories.h"
#include "tests/simulation/simulated_seat.h"
#include "tests/simulation/witness.h"

namespace signalbox {
struct MethodParts;
struct RunnerParts;
}  // namespace signalbox

namespace signalbox::simulation {

class SimulatedPeer;

// The clock that the service's deadlines run on. Some mutants replace it by a wrong one.
class LeaseClock final : public Clock {
 public:
  explicit LeaseClock(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] std::int64_t wall_ns() const override {
    return environment_.mutant == Mutant::unwatched_clock ? environment_.schedule.right_wall_ns()
                                                          : environment_.schedule.wall_ns();
  }
  [[nodiscard]] std::int64_t monotonic_ns() const override {
    return environment_.mutant == Mutant::wall_clock_lease ? environment_.schedule.wall_ns()
                                                           : environment_.schedule.monotonic_ns();
  }

 private:
  const Environment& environment_;
};

class SimulatedServer {
 public:
  // Takes a `world` that is the fold of the disk's log. `site` is the server's in a cell, whose
  // replica the disk then has; nullptr: it is alone.
  SimulatedServer(Environment& environment, SimulatedDisk& disk, SimulatedMachine& machine,
                  Witness& witness, RunRootFiles& files,
                  std::shared_ptr<SimulatedRepositories> repositories, const BoardRhythm& rhythm,
                  Owner owner, World world, const CellSite* site = nullptr);
  ~SimulatedServer();

  // Recovers and starts the loops; in a cell, once this server takes the log.
  void start();
  // Handles a request line as soon as the process gets the processor.
  void receive(const std::string& line, const std::string& actor,
               const std::shared_ptr<SimulatedPeer>& peer);

  // The same for those who only read: their requests, and what is done for them, have randomness
  // and time of their own (Environment::reading).
  void receive_reading(const std::string& line, const std::string& actor,
                       const std::shared_ptr<Peer>& peer);

  // Stops as on SIGTERM: work under way is finished first; then ended() is true.
  void stop();
  [[nodiscard]] bool ended() const { return ended_ && (!seat_ || seat_->has_left()); }
  // Has another server of the cell take over: this one stops as the writer.
  void switch_over(const std::string& successor);
  // Returns whether this server takes commands, as far as it knows.
  [[nodiscard]] bool is_current() const {
    return acts() && !is_cell_away_ && seat_->member().is_current();
  }
  // Returns the id of its machine, as the attempts of its jobs have it.
  [[nodiscard]] std::string machine_id() const { return ownership().machine(); }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  // Returns the digest of the world, kept between calls as the service keeps it.
  Digest digest() { return digest_.of(engine_.world()); }

 private:
  Engine::Hooks hooks();
  Api api(IdSource& ids, const BlockingPool& pool, Post post_to_engine);
  MethodParts method_parts();
  void announce_start();
  void handle(const std::string& line, const std::string& actor,
              const std::shared_ptr<SimulatedPeer>& peer);
  Decided<Principal> principal_of(const signalbox::Caller& caller);
  void apply(std::span<const Record> records);
  BlockingPool blocking_pool();
  BlockingPool reading_pool();
  BlockingPool board_files_pool();
  // Returns the runs that are over for good, as runs_over() does.
  tl::expected<std::set<std::string>, std::string> over(Position position,
                                                        const std::set<std::string>& run_ids);
  void run_due_loops();
  void post(Schedule::Action action);
  void schedule_turn();
  void turn();
  void wait_for_time();
  void add_runners(RunnerParts& parts);
  void note_usage(const Job& job, const Usage& usage);
  void sweep_runners();
  // What follows is in simulated_server_cell.cc.
  void stand_by();
  CellMember::Hooks cell_hooks();
  void take_over();
  // Another server has taken the log, as this one hears.
  void deposed(const std::string& why);
  void step_down(const std::string& why);
  void look_at_cell();
  void watch_cell();
  [[nodiscard]] Rejection not_active() const;
  [[nodiscard]] Rejection log_away() const;
  [[nodiscard]] std::optional<Rejection> cell_refusal() const;
  void end();

  // Does what only the writer of the log does when it begins.
  void begin_serving();
  [[nodiscard]] JobOwnership ownership() const;
  [[nodiscard]] bool acts() const { return !stopping_ && !stands_by_; }
  void check_clocks() {
    if (environment_.mutant == Mutant::stopped_serves_on) return;
    if (seat_ && acts()) look_at_cell();
    if (!stands_by_) timer_loop_.check_for_clock_jump(stopping_);
  }
  World roll_back();
  void watch_for_space();
  void stop_when_idle();
  void project_later();
  void add_retention();
  BlockingPool retention_pool();
  BlockingPool rewriting_pool(std::function<std::int64_t()> duration_ns);
  Stored<void> renew_rows(const std::atomic<bool>& stopped);
  Redactions::Parts redaction_parts();
  BlockingPool redaction_pool();
  Stored<void> renew_without_texts(const std::atomic<bool>& stopped);
  void redact_later();
  void redact();

  Environment& environment_;
  const CellSite* const site_;  // nullptr: in no cell
  SimulatedDisk& disk_;
  SimulatedMachine& machine_;
  Witness& witness_;
  RunRootFiles& files_;
  const std::shared_ptr<SimulatedRepositories> repositories_;
  const Owner owner_;
  SeededIds ids_;
  SeededIds reading_ids_;
  LeaseClock lease_clock_;
  Engine engine_;
  WorldDigest digest_;
  MemoryTable table_;
  RunIndex index_;
  Projector projector_;
  ClaimQueue claims_;
  LockQueue locks_;
  StepQueue steps_;
  TimerLoop timer_loop_;
  BoardLoops board_;
  RewritingTurn rewriting_turn_;
  std::optional<RetentionLoop> retention_;  // nullopt: nothing is dropped
  Redactions redactions_;
  ServiceLoops loops_;
  EventFeed feed_;
  RunnerRegistry runners_;
  RunnerRemovals runner_removals_;
  RunnerQueue runner_queue_;
  RunnerExecutor runner_executor_;
  ExecutorSet executor_;
  DirectoryArtifacts artifacts_;
  Authentication authentication_;
  Api api_;
  Api reading_api_;
  Dispatcher dispatcher_;
  Dispatcher reading_dispatcher_;
  SimulatedCommitter committer_;
  std::unique_ptr<SimulatedSeat> seat_;  // nullptr: in no cell
  StationJobs jobs_;
  bool turn_scheduled_ = false;
  bool stopping_ = false;
  bool stopped_ = false;  // ServerStopped is decided
  bool ended_ = false;
  bool started_ = false;
  bool stands_by_ = false;               // another server of the cell writes the log
  bool is_cell_away_ = false;            // as the writer: nothing it sends is acknowledged
  std::int64_t cell_away_since_ns_ = 0;  // monotonic
  std::string successor_;                // see switch_over()
  std::uint64_t epoch_ = 0;              // as the writer
  std::uint64_t incarnation_ = 0;
  bool projection_scheduled_ = false;
  std::int64_t board_files_busy_until_ns_ = 0;  // monotonic; the pool has one thread
  std::optional<Timers> timers_before_jump_;    // for a mutant
  std::map<Uuid, Principal> known_principals_;  // for a mutant
  std::uint64_t alarm_ = 0;                     // number of the latest alarm; earlier ones are void
};

// Returns the fold of the whole log.
World fold(const EventLog& log, Mutant mutant);

}  // namespace signalbox::simulation
