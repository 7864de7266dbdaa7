// What the watchdog looks at in each of its ticks: attempts and ticks that should have ended.
//
// Timers end them when their time comes; this is the second pair of eyes, which counts for itself
// and asks no timer. What it finds is a defect of the first, or of a job's supervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/command.h"
#include "domain/world.h"
#include "server/scheduler/same_state_timer.h"

namespace signalbox {

// One thing that is overdue.
struct OverdueItem {
  std::string what;                // for the log of the service
  std::optional<Command> command;  // that ends it
  std::string job_id;              // or the job to cancel
};

class WatchdogSweep {
 public:
  // How much later than its timer something must be before it counts as forgotten.
  static constexpr std::int64_t patience_ms = 10'000;

  // A job's supervisor may take its grace and then some until nothing is left of it.
  static constexpr std::int64_t shim_patience_ms = 60'000;

  explicit WatchdogSweep(std::int64_t interval_ms) : interval_ms_(interval_ms) {}

  // All that is overdue at this moment.
  std::vector<OverdueItem> find_overdue(const World& world, std::int64_t monotonic_ns);

  // Follows the records of one commit: the time of a run that is resumed starts anew.
  void apply(std::span<const Record> records);
  // All deadlines start anew.
  void forget() { same_state_ = {}; }

  // Whether there is anything to look at: an attempt or an outside tick under way.
  static bool has_work(const World& world);

 private:
  void look_at_attempt(const Run& run, std::vector<OverdueItem>& overdue);

  std::int64_t interval_ms_;
  SameStateTimer same_state_;
};

}  // namespace signalbox
