// A walk through the log, forwards and backwards, with the state at each position.
//
// Backwards is forwards again, from a state that was kept on the way. Those nearest are kept
// closest together, so that a step back costs some thousand events, wherever in the log it is.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/world.h"
#include "server/replay/noun_state.h"
#include "store/event_log.h"

namespace signalbox {

// One event and what it did.
struct WalkStep {
  Record record;
  std::vector<FieldDifference> changes;  // of the thing whose stream it is in
};

class ReplayWalk {
 public:
  // Begins before the first record. `log` outlives it; snapshots in `data` are used.
  ReplayWalk(const EventLog& log, std::filesystem::path data);

  // The world after the event at position().
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] Position position() const { return world_.position; }
  [[nodiscard]] Position tail() const { return log_.tail(); }

  // To `position`, at most the tail; 0 is before the first. What the event there did: nothing at 0.
  Stored<std::optional<WalkStep>> go(Position position);

  // What the events after `from` up to `to` are about, in the order of the first of each, with the
  // type of the last. Stays.
  struct Touched {
    Stream stream;
    std::string last_event;
    friend bool operator==(const Touched&, const Touched&) = default;
  };
  Stored<std::vector<Touched>> streams_between(Position from, Position to) const;

  // To the next event after position() that `wanted`; nothing, and it stays, if there is none.
  Stored<std::optional<WalkStep>> find(const std::function<bool(const Record&)>& wanted);

 private:
  Stored<void> restore(Position position_max);
  Stored<void> fold_to(Position position);
  void keep();

  const EventLog& log_;
  const std::filesystem::path snapshots_;
  World world_;
  std::map<Position, std::string> kept_;  // worlds, encoded
  std::size_t kept_bytes_ = 0;
};

}  // namespace signalbox
