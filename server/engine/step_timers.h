// Deadlines of the steps of plans, on the monotonic clock: leases, timeouts, retry delays. Part of
// Timers, in a file of its own because a run has one current station but many steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/command.h"
#include "domain/world.h"
#include "server/engine/deadline_queue.h"

namespace signalbox {

class StepTimers {
 public:
  // Replaces all deadlines with those of the steps in `world`.
  void arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns);
  // Restarts every lease and timeout for its full length.
  void restart_leases(const World& world, std::int64_t monotonic_ns);
  // Updates deadlines with one record of a run that is still open.
  void apply(const Run& run, const Record& record, std::int64_t wall_ns, std::int64_t monotonic_ns);
  // Renews the lease of a step's attempt without a record, as Timers::renew().
  bool renew(const Run& run, const StepState& step, std::int64_t monotonic_ns);
  // Removes the deadlines that have passed and appends their commands to `due`.
  void take_due(const World& world, std::int64_t monotonic_ns, std::vector<Command>& due);
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return queue_.next_poll_ns(); }

 private:
  enum class Kind : std::uint8_t { lease, timeout, wait, on_record };
  struct Key {
    RunId run_id{};
    std::string step;
    Kind kind = Kind::lease;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return UuidHash{}(key.run_id) ^
             (std::hash<std::string>{}(key.step) + static_cast<std::size_t>(key.kind));
    }
  };

  void arm_lease(const Run& run, const StepState& step, std::int64_t monotonic_ns);
  void arm_on_record(const Run& run, const StepState& step, std::int64_t monotonic_ns);
  void arm_timeout(const Run& run, const StepState& step, std::int64_t monotonic_ns);
  void arm_wait(const Run& run, const StepState& step, std::int64_t wall_ns,
                std::int64_t monotonic_ns);
  void restart(const Run& run, std::int64_t monotonic_ns);

  DeadlineQueue<Key, KeyHash> queue_;
};

}  // namespace signalbox
