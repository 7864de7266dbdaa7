// Time and what happens in it. The only clock of a simulation: it stands still while something
// happens and jumps to the next thing that will.
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

// Whose actions they are: one life of the server, or what is outside of it. What a server has yet
// to do dies with it.
using Owner = std::uint64_t;
inline constexpr Owner outside = 0;

class Schedule final : public Clock {
 public:
  using Action = std::function<void()>;

  // Actions of one moment happen in the order in which they were planned.
  void after(std::int64_t delay_ns, Owner owner, Action action);

  // The next action; false if there is none.
  bool step();

  // The owner's process was killed: nothing of it happens any more.
  void kill(Owner owner);
  // The owner's process gets no processor for a while: what is due meanwhile happens later.
  void stall(Owner owner, std::int64_t duration_ns);
  // Somebody sets the clock that people read.
  void jump_wall(std::int64_t by_ns) { wall_offset_ns_ += by_ns; }
  void set_wall_right() { wall_offset_ns_ = 0; }
  // What it would show had nobody set it.
  [[nodiscard]] std::int64_t right_wall_ns() const { return wall_ns() - wall_offset_ns_; }

  [[nodiscard]] std::int64_t wall_ns() const override;
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns_; }

 private:
  struct Planned {
    Owner owner;
    Action action;
  };
  using Moment = std::pair<std::int64_t, std::uint64_t>;  // time, then order of planning

  std::map<Moment, Planned> planned_;
  std::int64_t now_ns_ = ns_per_s;
  std::int64_t wall_offset_ns_ = 0;
  std::uint64_t count_ = 0;
  Owner stalled_ = outside;
  std::int64_t stalled_until_ns_ = 0;
};

}  // namespace signalbox::simulation
