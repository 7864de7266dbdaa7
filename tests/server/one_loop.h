// A group of one loop, for tests of the list of the service's loops.
#pragma once

#include <span>
#include <vector>

#include "server/scheduler/service_loops.h"

namespace signalbox {

class OneLoop final : public LoopGroup {
 public:
  explicit OneLoop(ScheduledLoop& loop) : loops_{&loop} {}
  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }

 private:
  std::vector<ScheduledLoop*> loops_;
};

}  // namespace signalbox
