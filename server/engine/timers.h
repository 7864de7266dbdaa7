// Deadlines on the monotonic clock of this incarnation: leases, timeouts, ends of waits.
//
// A deadline follows from the state and from the moment at which this process saw that state. So
// after a restart, and after a clock jump, all are armed again for their full length: longer is
// safe, shorter isn't. All calls come from the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/command.h"
#include "domain/world.h"
#include "server/engine/deadline_queue.h"
#include "server/engine/step_timers.h"

namespace signalbox {

class Timers {
 public:
  // Replaces all deadlines with those that follow from `world`.
  void arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns);

  // Restarts every lease and timeout for its full length. The ends of waits stay: nobody loses
  // anything when a wait ends early.
  void restart_leases(const World& world, std::int64_t monotonic_ns);

  // Counts each lease of an attempt and of a held lock from when it began (monotonic), which
  // `began_ns` returns for the position of its grant or renewal. For a moment of the past, right
  // after arm_all(), which gives every lease its full length. An attempt whose lease was renewed
  // since without a record keeps that.
  void count_leases_from(const World& world, const std::function<std::int64_t(Position)>& began_ns);

  // Updates deadlines with the records of one commit. `world` already has them.
  void apply(const World& world, std::span<const Record> records, std::int64_t wall_ns,
             std::int64_t monotonic_ns);

  // Begins the lease of a run's attempt, or of a step's, anew, without a record of it. Returns
  // false and changes nothing if that has to be recorded: no heartbeat of the attempt is on record
  // since this incarnation armed all deadlines, or for limits::unrecorded_renewal_ms_max. So the
  // log doesn't grow with each heartbeat, and still says of every attempt whether it sends any, and
  // that it outlived a crash.
  bool renew(const Run& run, std::int64_t monotonic_ns);
  bool renew_step(const Run& run, const StepState& step, std::int64_t monotonic_ns) {
    return steps_.renew(run, step, monotonic_ns);
  }

  // Removes the deadlines that have passed and returns their commands.
  std::vector<Command> take_due(const World& world, std::int64_t monotonic_ns);

  // Returns when to call take_due() next (monotonic, ns); nullopt if there are no deadlines.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const;

  // Returns the command that ends a held lock whose lease is over; nullopt if there is no such
  // lock. take_due() leaves an expired lock alone for limits::lock_linger_ms_max, so that a
  // takeover ends and grants it in one commit. A lock that a run or loop depends on ends at once.
  [[nodiscard]] std::optional<ExpireLock> expired_lock(const World& world, const std::string& key,
                                                       std::int64_t monotonic_ns) const;
  // Returns the command that ends a running tick whose lease is over; nullopt if there is none.
  [[nodiscard]] std::optional<TimeOutTick> expired_tick(const World& world, const std::string& loop,
                                                        std::int64_t monotonic_ns) const;
  // Returns when the lease of a run's attempt ends (monotonic, ns); nullopt if it has none.
  [[nodiscard]] std::optional<std::int64_t> attempt_lease_end_ns(const RunId& run_id) const;
  // Returns whether a heartbeat of the run's attempt would renew its lease in memory now: then the
  // lease began with its latest one, or with the claim.
  [[nodiscard]] bool renews_in_memory(const RunId& run_id, std::int64_t monotonic_ns) const;
  // Returns when the lease of a held lock ends (monotonic, ns); nullopt if it isn't held.
  [[nodiscard]] std::optional<std::int64_t> lease_end_ns(const std::string& key) const;

  // Returns how long (ms) the attempt of a run has been running, counted from its timer origin or,
  // if that is later, from the start of this process. Returns nullopt without a timeout.
  [[nodiscard]] std::optional<std::int64_t> elapsed_ms(const Run& run,
                                                       std::int64_t monotonic_ns) const;

 private:
  // Until `on_record`, a heartbeat is in the log that is recent enough.
  enum class RunKind : std::uint8_t { lease, timeout, wait, stall, on_record };
  struct RunKey {
    RunId run_id{};
    RunKind kind = RunKind::lease;
    friend auto operator<=>(const RunKey&, const RunKey&) = default;
  };
  struct RunKeyHash {
    using is_avalanching = void;
    std::size_t operator()(const RunKey& key) const {
      return UuidHash{}(key.run_id) + static_cast<std::size_t>(key.kind);
    }
  };
  using NameHash = boost::hash<std::string>;

  void arm_run(const Run& run, std::int64_t wall_ns, std::int64_t monotonic_ns);
  void arm_attempt(const Run& run, std::int64_t monotonic_ns);
  void arm_lease(const RunId& run_id, std::int64_t lease_ms, std::int64_t monotonic_ns);
  void arm_progress(const Run& run, std::int64_t monotonic_ns);
  void arm_stall(const Run& run, std::int64_t monotonic_ns);
  void disarm_run(const RunId& run_id);
  void apply_lock(const World& world, const Record& record, std::int64_t monotonic_ns);
  void apply_tick(const World& world, const Record& record, std::int64_t monotonic_ns);
  static std::optional<Command> command_for(const World& world, const RunKey& key,
                                            std::int64_t late_ms);

  DeadlineQueue<RunKey, RunKeyHash> runs_;
  DeadlineQueue<std::string, NameHash> locks_;  // when to check for an expired lease
  boost::unordered_flat_map<std::string, std::int64_t> lease_end_ns_;  // of held locks
  DeadlineQueue<std::string, NameHash> ticks_;
  StepTimers steps_;
};

}  // namespace signalbox
