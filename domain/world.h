// The world: all the state that decisions need, as the fold of the log.
//
// Its size is bounded by what is open. An ended run is replaced by an EndedRun at once, and only
// the newest EndedRuns and command ids are remembered (limits.h). The read model has the older
// ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/access_token.h"
#include "domain/board.h"
#include "domain/event.h"
#include "domain/limits.h"
#include "domain/lock.h"
#include "domain/project.h"
#include "domain/ready_stations.h"
#include "domain/recent_late_usage.h"
#include "domain/remembered.h"
#include "domain/run.h"
#include "domain/run_roots.h"
#include "domain/runner.h"
#include "domain/tick.h"

namespace signalbox {

// Since the latest ServicePaused, nothing new begins until ServiceResumed (admits_work()).
struct ServicePause {
  Position position = 0;      // of that ServicePaused
  std::int64_t since_ns = 0;  // UTC; its time
  std::string by;             // the actor who asked for it
  std::string reason;         // may be empty

  friend bool operator==(const ServicePause&, const ServicePause&) = default;
};
BOOST_DESCRIBE_STRUCT(ServicePause, (), (position, since_ns, by, reason))

struct ServerState {
  std::uint64_t incarnation = 0;
  bool serving = false;               // started and not stopped; still true after a crash
  Position recovered_at = 0;          // position of the latest RecoveryFinished, or 0
  Digest crash_report;                // from that RecoveryFinished
  std::optional<ServicePause> pause;  // nullopt: the service isn't paused

  friend bool operator==(const ServerState&, const ServerState&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerState, (), (incarnation, serving, recovered_at, crash_report, pause))

// The remembered rest of a run that has ended.
struct EndedRun {
  RunStatus status = RunStatus::succeeded;
  std::string idempotency_key;
  Digest request_digest;
  Position ended_at = 0;
  std::int64_t ended_at_ns = 0;  // UTC

  friend bool operator==(const EndedRun&, const EndedRun&) = default;
};
BOOST_DESCRIBE_STRUCT(EndedRun, (),
                      (status, idempotency_key, request_digest, ended_at, ended_at_ns))

// A command id that was used: the commit at `position` is the result of its first use.
struct RememberedCommand {
  Digest request_digest;
  Position position = 0;

  friend bool operator==(const RememberedCommand&, const RememberedCommand&) = default;
};
BOOST_DESCRIBE_STRUCT(RememberedCommand, (), (request_digest, position))

// A pipeline definition that open runs use, or that is kept for the next run with it.
struct PinnedPipeline {
  std::shared_ptr<const PipelineDefinition> definition;
  std::uint64_t open_runs = 0;
  Position idle_since = 0;  // position of the last run's end; 0 while there are open runs
};

struct World {
  // Compiled once, in world.cc: they bring in most of the code of each of the tables below.
  World();
  World(World&& other) noexcept;
  World& operator=(World&& other) noexcept;
  ~World();

  Position position = 0;  // of the latest record that was applied
  ServerState server;
  boost::unordered_flat_map<RunId, std::unique_ptr<Run>, UuidHash> runs;
  Remembered<RunId, EndedRun, UuidHash> ended_runs{limits::remembered_ended_runs_max};
  RecentLateUsage late_usage;   // no part of the encoded state
  Position forgotten_keys = 0;  // end of the latest forgotten run with an idempotency key, or 0
  Remembered<std::string, RememberedCommand> commands{limits::remembered_commands_max};
  boost::unordered_flat_map<Digest, PinnedPipeline, DigestHash> pipelines;
  boost::unordered_flat_map<std::string, Lock> locks;  // held ones, by key
  Remembered<std::string, EndedLock> ended_locks{limits::remembered_ended_locks_max};
  boost::unordered_flat_map<std::string, Tick> ticks;  // of loops that aren't idle, by loop
  boost::unordered_flat_map<std::string, Loop> loops;  // loops with a schedule, by name
  // The actor that was granted each token in use: of attempts, steps, locks and ticks (sender.h).
  std::map<Token, std::string> holders;

  AccessState access;
  // What is decided about runners, by id: at most limits::decided_runners_max.
  std::map<std::string, RunnerDecision> runners;

  boost::unordered_flat_map<std::string, Project> projects;
  Board board;
  std::map<RunId, CardWorktree> worktrees;  // of cards' runs, until they are removed

  // Indexes, derived from the fields above.
  boost::unordered_flat_map<std::string, RunId> run_by_idempotency_key;
  RunRoots run_roots;  // that open runs name
  ReadyStations ready;
  std::set<RunId> planned;  // runs whose current station is deep work that was begun
  boost::unordered_flat_map<Token, std::string> lock_by_token;
  boost::unordered_flat_map<std::string, std::size_t> locks_of_holder;  // how many, by actor

  // Return the open run, held lock, tick or project, or nullptr.
  [[nodiscard]] const Run* find_run(const RunId& id) const;
  [[nodiscard]] Run* find_run(const RunId& id);
  [[nodiscard]] const Lock* find_lock(const std::string& key) const;
  // Returns the lock that is held with this token, or nullptr.
  [[nodiscard]] const Lock* find_lock_by_token(Token token) const;
  [[nodiscard]] const Tick* find_tick(const std::string& loop) const;
  [[nodiscard]] const Project* find_project(const std::string& name) const;
  // Returns what is decided about the runner; `free` if nothing is.
  [[nodiscard]] RunnerStanding standing_of(const std::string& runner) const;
};

}  // namespace signalbox
