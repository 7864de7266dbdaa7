// One sweep of the watchdog: finds attempts and ticks that should have ended.
//
// Timers normally end them. The sweep is an independent second check, which measures time by itself
// and uses no timer, so anything that it finds is a defect of a timer or of a job's supervisor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/command.h"
#include "domain/world.h"
#include "server/scheduler/same_state_timer.h"

namespace signalbox {

// An attempt, job or tick that is overdue.
struct OverdueItem {
  std::string what;                // a sentence for the service's log
  std::optional<Command> command;  // ends the item; nullopt: cancel the job
  std::string job_id;              // the job to cancel; else empty
};

class WatchdogSweep {
 public:
  // How far past its deadline something must be before the sweep reports it.
  static constexpr std::int64_t patience_ms = 10'000;

  // The time that a job's supervisor gets, after the grace period, to end the job.
  static constexpr std::int64_t shim_patience_ms = 60'000;

  // Returns whether the runner of an attempt has its job, as far as it has reported lately.
  using HasJob = std::function<bool(const Attempt&)>;

  // Without `has_job` runners count as having their jobs.
  explicit WatchdogSweep(std::int64_t interval_ms, HasJob has_job = {})
      : interval_ms_(interval_ms), has_job_(std::move(has_job)) {}

  // Returns everything that is overdue now. Called once per tick of the watchdog.
  std::vector<OverdueItem> find_overdue(const World& world, std::int64_t monotonic_ns);

  // Applies the records of one commit: the measured time of a resumed run restarts.
  void apply(std::span<const Record> records);
  // Restarts the measured time of the lease of a run's attempt, which was renewed without a record.
  void note_renewal(const RunId& run_id);
  // Restarts all measured times.
  void forget() { same_state_ = {}; }

  // Returns true if an attempt, or a tick of an outside loop, is under way.
  static bool has_work(const World& world);

 private:
  void check_attempt(const Run& run, std::vector<OverdueItem>& overdue);

  std::int64_t interval_ms_;
  HasJob has_job_;
  SameStateTimer same_state_;
};

}  // namespace signalbox
