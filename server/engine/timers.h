// Deadlines on the monotonic clock of this incarnation: leases, timeouts, the ends of waits.
//
// They follow from state and from the moment that this process saw it: after a restart all are set
// anew for their full length. An entry that was moved to a later time stays where it is in the
// order and is looked at again when its old time comes, so that a heartbeat costs one look-up.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/command.h"
#include "domain/world.h"

namespace signalbox {

class Timers {
 public:
  // Sets everything that `world` waits for.
  void arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns);

  // Follows the records of one commit.
  void observe(const World& world, std::span<const Record> records, std::int64_t wall_ns,
               std::int64_t monotonic_ns);

  // The commands that are due; their timers are gone.
  std::vector<Command> take_due(const World& world, std::int64_t monotonic_ns);

  // When to look again (monotonic, ns); nullopt if nothing is set.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const;

 private:
  enum class Kind : std::uint8_t { lease, timeout, wait };
  struct Key {
    RunId run_id;
    Kind kind;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct KeyHash {
    using is_avalanching = void;
    std::size_t operator()(const Key& key) const {
      return UuidHash{}(key.run_id) + static_cast<std::size_t>(key.kind);
    }
  };
  struct Timer {
    std::int64_t due_ns;
    std::int64_t queued_ns;  // where the queue holds it; never later than due_ns
  };

  void arm(const Key& key, std::int64_t due_ns);
  void disarm(const Key& key);
  void disarm_run(const RunId& run_id);
  void arm_run(const Run& run, std::int64_t wall_ns, std::int64_t monotonic_ns);
  static std::optional<Command> command_for(const World& world, const Key& key);

  boost::unordered_flat_map<Key, Timer, KeyHash> timers_;
  std::set<std::tuple<std::int64_t, Key>> queue_;
};

}  // namespace signalbox
