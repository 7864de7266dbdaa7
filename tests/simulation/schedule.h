// The only clock of a simulation, with the actions planned on it. Time stands still during an
// action and then jumps to the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "server/platform/clock.h"

namespace signalbox::simulation {

inline constexpr std::int64_t ns_per_us = 1'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1'000'000'000;

// Who an action belongs to: one life of the server, or `outside`. What a server still has to do
// dies with it.
using Owner = std::uint64_t;
inline constexpr Owner outside = 0;

class Schedule final : public Clock {
 public:
  using Action = std::function<void()>;

  // Plans an action. Actions at the same time run in the order in which they were planned.
  void after(std::int64_t delay_ns, Owner owner, Action action);

  // Runs the next action. Returns false if there is none.
  bool step();
  // Runs all actions up to this time, and those that they plan until then.
  void run_until(std::int64_t time_ns);

  // Returns whose action runs now, or did last.
  [[nodiscard]] Owner running() const { return running_; }

  // Drops all actions of the owner, whose process was killed.
  void kill(Owner owner);
  // Delays the owner's actions until `duration_ns` from now: its process gets no processor.
  void stall(Owner owner, std::int64_t duration_ns);
  // Moves the wall clock, as a person who sets it does.
  void jump_wall(std::int64_t by_ns) { wall_offset_ns_ += by_ns; }
  // Undoes all moves of the wall clock.
  void set_wall_right() { wall_offset_ns_ = 0; }
  // Returns the wall clock as if nobody had set it (UTC).
  [[nodiscard]] std::int64_t right_wall_ns() const { return wall_ns() - wall_offset_ns_; }

  [[nodiscard]] std::int64_t wall_ns() const override;
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns_; }

 private:
  struct Planned {
    Owner owner;
    Action action;
  };
  // Runs the next action that is due by then. Returns false if there is none.
  bool step_by(std::int64_t latest_ns);

  using Moment = std::pair<std::int64_t, std::uint64_t>;  // time, then order of planning

  std::map<Moment, Planned> planned_;
  std::int64_t now_ns_ = ns_per_s;
  std::int64_t wall_offset_ns_ = 0;
  std::uint64_t count_ = 0;
  Owner running_ = outside;
  std::map<Owner, std::int64_t> stalled_until_ns_;
};

}  // namespace signalbox::simulation
