// Writes in run roots in lanes, so that a root that hangs holds up no other.
#include <algorithm>
#include <future>
#include <utility>

#include "server/followers/run_root/run_root_writer.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

struct LaneWrite {
  std::promise<Stored<void>> result;
  std::atomic<bool> answered = false;

  void answer(Stored<void> outcome) {
    if (!answered.exchange(true)) result.set_value(std::move(outcome));
  }
};

Stored<void> root_hangs(const std::string& root, std::int64_t waited_ms) {
  return store_failure(StoreError::Kind::io,
                       root + " didn't answer within " + std::to_string(waited_ms) + " ms", root);
}

}  // namespace

Stored<void> write_directly(const std::string&, const std::function<Stored<void>()>& work) {
  return work();
}

RunRootApplier::InLane run_root_lane(LanePool& lanes, std::int64_t wait_ms_max) {
  return [&lanes, wait_ms_max](const std::string& root,
                               std::function<Stored<void>()> work) -> Stored<void> {
    const std::int64_t left_ms = CallBounds::deadline_ms() - CallBounds::now_ms();
    const std::int64_t wait_ms = std::min(wait_ms_max, left_ms);
    if (wait_ms <= 0) return root_hangs(root, 0);
    auto write = std::make_shared<LaneWrite>();
    std::future<Stored<void>> result = write->result.get_future();
    Lane lane{.name = "run root " + root, .path = root, .deadline_ms = wait_ms};
    lane.failed = [weak = std::weak_ptr(write), root, wait_ms](LaneFailure) {
      if (const auto late = weak.lock()) late->answer(root_hangs(root, wait_ms));
    };
    lanes.run(std::move(lane),
              [write = std::move(write), work = std::move(work)] { write->answer(work()); });
    try {
      return result.get();
    } catch (const std::future_error&) {  // the lanes were stopped, and the work was dropped
      return root_hangs(root, wait_ms);
    }
  };
}

}  // namespace signalbox
