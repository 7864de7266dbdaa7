// Deadlines on the monotonic clock of this incarnation: leases, timeouts, the ends of waits.
//
// They follow from state and from the moment that this process saw it: after a restart, and after
// the clocks parted, all are set anew for their full length.
#pragma once

#include <cstdint>
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
  // Sets everything that `world` waits for.
  void arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns);

  // Sets every lease and timeout anew for its full length. The ends of waits stay: nobody loses
  // anything by them.
  void restart_leases(const World& world, std::int64_t monotonic_ns);

  // Follows the records of one commit.
  void apply(const World& world, std::span<const Record> records, std::int64_t wall_ns,
             std::int64_t monotonic_ns);

  // The commands that are due; their timers are gone.
  std::vector<Command> take_due(const World& world, std::int64_t monotonic_ns);

  // When to look again (monotonic, ns); nullopt if nothing is set.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const;

  // The command that ends a held lock whose lease is over. Such a lock stays for a while
  // (limits::lock_linger_ms_max), so that whoever takes it over does both in one commit; what
  // somebody depends on ends at once.
  [[nodiscard]] std::optional<ExpireLock> expired_lock(const World& world, const std::string& key,
                                                       std::int64_t monotonic_ns) const;
  // Likewise of a tick under way.
  [[nodiscard]] std::optional<TimeOutTick> expired_tick(const World& world, const std::string& loop,
                                                        std::int64_t monotonic_ns) const;
  // When the lease of a held lock ends (monotonic, ns).
  // When the lease of a run's attempt is over; nothing if it has none.
  [[nodiscard]] std::optional<std::int64_t> attempt_lease_end_ns(const RunId& run_id) const;
  [[nodiscard]] std::optional<std::int64_t> lease_end_ns(const std::string& key) const;

  // For how long the attempt of a run has been going, counted from its timer origin or, if that is
  // later, from the start of this process.
  [[nodiscard]] std::optional<std::int64_t> elapsed_ms(const Run& run,
                                                       std::int64_t monotonic_ns) const;

 private:
  enum class RunKind : std::uint8_t { lease, timeout, wait, stall };
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
  void arm_progress(const Run& run, std::int64_t monotonic_ns);
  void disarm_run(const RunId& run_id);
  void observe_lock(const World& world, const Record& record, std::int64_t monotonic_ns);
  void observe_tick(const World& world, const Record& record, std::int64_t monotonic_ns);
  static std::optional<Command> command_for(const World& world, const RunKey& key,
                                            std::int64_t late_ms);

  DeadlineQueue<RunKey, RunKeyHash> runs_;
  DeadlineQueue<std::string, NameHash> locks_;  // when to look at one whose lease may be over
  boost::unordered_flat_map<std::string, std::int64_t> lease_end_ns_;  // of held locks
  DeadlineQueue<std::string, NameHash> ticks_;
  StepTimers steps_;
};

}  // namespace signalbox
