// Walks through the log forwards and backwards, with the state at each position. For the debugger.
//
// A step back folds forward again from a state that was kept on the way. Kept states are denser
// near the current position, so a step back costs some thousand events anywhere in the log. One
// thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/error.h"
#include "domain/world.h"
#include "server/rpc/noun_state.h"
#include "store/event_log.h"

namespace signalbox {

// One event and the state changes that it made.
struct WalkStep {
  Record record;
  std::vector<FieldDifference> changes;  // of the noun whose stream it is in
};

class ReplayWalk {
 public:
  // Begins before the first record. `log` outlives it. Uses the snapshots in `data`, the data
  // directory.
  ReplayWalk(const EventLog& log, std::filesystem::path data);

  // Returns the world after the event at position().
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] Position position() const { return world_.position; }
  [[nodiscard]] Position tail() const { return log_.tail(); }

  // Returns why there is nothing at `position`: its record was dropped from the log. nullopt if it
  // wasn't.
  [[nodiscard]] std::optional<Rejection> why_dropped(Position position) const;

  // Goes to `position`, at most the tail, and returns the event there with its changes. 0 is before
  // the first event: then returns nullopt. Fails if the position was dropped from the log, and as
  // the log does. Blocks.
  Stored<std::optional<WalkStep>> go(Position position);

  // Returns the streams of the events after `from` up to `to`, in the order of their first events,
  // each with the type of its last event. position() stays as it is. Blocks.
  struct Touched {
    Stream stream;
    std::string last_event;
    std::optional<Event> end = std::nullopt;  // of a run: the last one that ended it
    friend bool operator==(const Touched&, const Touched&) = default;
  };
  Stored<std::vector<Touched>> streams_between(Position from, Position to) const;

  // Goes to the next event after position() for which `wanted` returns true. Returns nullopt and
  // stays if there is none. Blocks.
  Stored<std::optional<WalkStep>> find(const std::function<bool(const Record&)>& wanted);

 private:
  Stored<void> restore(Position position_max);
  Stored<void> fold_to(Position position);
  void keep();

  const EventLog& log_;
  const std::filesystem::path snapshots_;
  World world_;
  std::map<Position, std::string> kept_;  // encoded worlds, by position
  std::size_t kept_bytes_ = 0;
};

}  // namespace signalbox
