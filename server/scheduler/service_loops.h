// The loops that the service runs by a schedule of its own, behind one interface: a new one is
// added to the list where the service is wired, and everything that drives loops drives it.
//
// The watchdog isn't among them: it follows what isn't durable yet, and comes after the timers
// that it checks (timer_loop.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/engine.h"
#include "server/scheduler/scheduled_loop.h"

namespace signalbox {

// Loops that belong together, and what they do beside their ticks. All calls come from the engine's
// thread.
class LoopGroup {
 public:
  virtual ~LoopGroup() = default;

  [[nodiscard]] virtual std::span<ScheduledLoop* const> loops() const = 0;
  // Called at the start and when the world was rolled back, after the loops were armed.
  virtual void on_armed() {}
  // Follows what is durable.
  virtual void apply(std::span<const Record>) {}
};

class ServiceLoops {
 public:
  explicit ServiceLoops(const Engine& engine) : engine_(engine) {}

  // `group` lives as long as this.
  void add(LoopGroup& group) { groups_.push_back(&group); }

  // Arms all loops: at the start, and when the world was rolled back.
  void arm();
  // Wall clock and monotonic clock parted, for `cause` (ClockJumped).
  void clock_jumped(const std::string& cause);
  // Follows what is durable.
  void apply(std::span<const Record> records);

  // When to call run_due() (monotonic, ns). Without space for the log nothing is due: no tick could
  // begin.
  [[nodiscard]] std::int64_t next_due_ns() const;
  void run_due();

  [[nodiscard]] std::vector<ScheduledLoop*> all() const;
  // nullptr: there is no such loop.
  [[nodiscard]] ScheduledLoop* find(std::string_view name) const;

 private:
  const Engine& engine_;
  std::vector<LoopGroup*> groups_;
};

}  // namespace signalbox
