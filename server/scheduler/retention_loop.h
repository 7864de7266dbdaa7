// The service's own loop `retention`. When it is due it searches the log for records older than the
// policy; if there are any, the service pauses for the retention and starts again (serve.cc).
//
// The tick begins before the pause and ends after it, so each retention has a tick with its result:
// success, or why it failed. After a crash the next start ends the tick, from the log: the records
// were dropped, or they weren't. All calls come from the engine thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/retention_outcome.h"
#include "server/scheduler/scheduled_loop.h"
#include "server/scheduler/service_loops.h"

namespace signalbox {

// Ends the tick of the retention before this start. Called at every start, whether a policy is
// still configured or not. `outcome` is the result of that retention if this process ran it.
void conclude_retention(Engine& engine, const EventLog& log,
                        const std::optional<RetentionOutcome>& outcome);

class RetentionLoop final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    const EventLog& log;
    BlockingPool blocking;
    // Called when there are records to drop: stops the service cleanly, runs the retention, and
    // starts the service again.
    std::function<void()> enter_maintenance;
  };

  // `latest` is the outcome of the retention before this start, if this process ran it.
  RetentionLoop(Parts parts, const RetentionSettings& settings,
                std::optional<RetentionOutcome> latest);
  ~RetentionLoop() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  // Called when the service stops: cancels a search of the log that is under way, and leaves its
  // tick to the next start.
  void stop() { *stopped_ = true; }

  [[nodiscard]] const ScheduledLoop& loop() const { return loop_; }
  [[nodiscard]] const RetentionSettings& settings() const { return settings_; }
  // Returns the latest retention that dropped records or failed: one of this process, else the
  // latest in the log.
  [[nodiscard]] const std::optional<RetentionOutcome>& latest() const { return latest_; }

 private:
  void tick(const ScheduledLoop::Ended& ended);
  void refuse(const NoteVerifier& key, std::string why, const ScheduledLoop::Ended& ended);

  const Parts parts_;
  const RetentionSettings settings_;
  std::optional<RetentionOutcome> latest_;
  Position examined_ = 0;  // the previous retention found that all records up to here stay
  const std::shared_ptr<std::atomic<bool>> stopped_;
  ScheduledLoop loop_;
  const std::array<ScheduledLoop*, 1> loops_{&loop_};
};

}  // namespace signalbox
