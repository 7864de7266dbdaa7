// The list of the service's scheduled loops. A new loop is added where the service is wired, and
// everything that drives loops then drives it, too.
//
// The watchdog isn't in the list: it applies records that aren't durable yet, and must run after
// the timers that it checks (timer_loop.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/engine.h"
#include "server/scheduler/scheduled_loop.h"

namespace signalbox {

// Loops that belong together, and what they do beside their ticks. All calls come from the engine
// thread.
class LoopGroup {
 public:
  virtual ~LoopGroup() = default;

  [[nodiscard]] virtual std::span<ScheduledLoop* const> loops() const = 0;
  // Called at the start and when the world was rolled back, after the loops were armed.
  virtual void on_armed() {}
  // Called with the records of each durable commit.
  virtual void apply(std::span<const Record>) {}
};

class ServiceLoops {
 public:
  explicit ServiceLoops(const Engine& engine) : engine_(engine) {}

  // Adds `group`, which must outlive this object.
  void add(LoopGroup& group) { groups_.push_back(&group); }

  // Arms all loops. Called at the start, and when the world was rolled back.
  void arm();
  // Arms all loops again after a clock jump with this `cause` (ClockJumped) or, if this process or
  // the machine was only stopped, runs the loops that are late.
  void clock_jumped(const std::string& cause);
  // Passes the records of a durable commit to all groups.
  void apply(std::span<const Record> records);

  // Returns when to call run_due() (monotonic, ns). While the disk is full nothing is due, because
  // no tick could begin.
  [[nodiscard]] std::int64_t next_due_ns() const;
  // Runs the loops that are due.
  void run_due();

  [[nodiscard]] std::vector<ScheduledLoop*> all() const;
  // Returns the loop of this name; nullptr if there is none.
  [[nodiscard]] ScheduledLoop* find(std::string_view name) const;

 private:
  const Engine& engine_;
  std::vector<LoopGroup*> groups_;
};

}  // namespace signalbox
