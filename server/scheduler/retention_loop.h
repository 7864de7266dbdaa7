// The service's own loop `retention`: when it is due it looks whether anything is older than the
// policy, and if so the service pauses for it and starts again (serve.cc).
//
// Its tick begins before the service goes and ends when it is back, so a tick tells of each
// retention: whether it succeeded, or why it failed. One that a crash ended is concluded by the
// next start, from the log: the records were dropped, or they weren't. All calls come from the
// engine's thread.
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

// At the start, whether there is a policy any more or not: ends the tick of the retention that came
// before it. `outcome` is what that came to, if it was one of this process.
void conclude_retention(Engine& engine, const EventLog& log,
                        const std::optional<RetentionOutcome>& outcome);

class RetentionLoop final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    const EventLog& log;
    BlockingPool blocking;
    // There is something to drop: a clean stop, the retention, and a start.
    std::function<void()> enter_maintenance;
  };

  // `latest` is what the retention before this start came to, if there was one in this process.
  RetentionLoop(Parts parts, const RetentionSettings& settings,
                std::optional<RetentionOutcome> latest);
  ~RetentionLoop() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  // The service stops: gives up a look that is under way, and leaves its tick to the next start.
  void stop() { *stopped_ = true; }

  [[nodiscard]] const ScheduledLoop& loop() const { return loop_; }
  [[nodiscard]] const RetentionSettings& settings() const { return settings_; }
  // The latest one that dropped records or failed: of this process, else of the log.
  [[nodiscard]] const std::optional<RetentionOutcome>& latest() const { return latest_; }

 private:
  void tick(const ScheduledLoop::Ended& ended);

  const Parts parts_;
  const RetentionSettings settings_;
  std::optional<RetentionOutcome> latest_;
  const std::shared_ptr<std::atomic<bool>> stopped_;
  ScheduledLoop loop_;
  const std::array<ScheduledLoop*, 1> loops_{&loop_};
};

}  // namespace signalbox
