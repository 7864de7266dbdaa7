// Writes in run roots in lanes, so that a root that hangs holds up no other.
#include <future>
#include <utility>

#include "server/followers/run_root/run_root_writer.h"
#include "server/limits.h"

namespace signalbox {
namespace {

struct LaneWrite {
  std::promise<Stored<void>> result;
  std::atomic<bool> answered = false;

  void answer(Stored<void> outcome) {
    if (!answered.exchange(true)) result.set_value(std::move(outcome));
  }
};

Stored<void> root_hangs(const std::string& root) {
  return store_failure(
      StoreError::Kind::io,
      root + " didn't answer within " + std::to_string(limits::run_root_write_ms_max) + " ms",
      root);
}

}  // namespace

Stored<void> write_directly(const std::string&, const std::function<Stored<void>()>& work) {
  return work();
}

RunRootApplier::InLane run_root_lane(LanePool& lanes) {
  return [&lanes](const std::string& root, std::function<Stored<void>()> work) -> Stored<void> {
    auto write = std::make_shared<LaneWrite>();
    std::future<Stored<void>> result = write->result.get_future();
    Lane lane{.name = "run root " + root, .deadline_ms = limits::run_root_write_ms_max};
    lane.failed = [weak = std::weak_ptr(write), root](LaneFailure) {
      if (const auto late = weak.lock()) late->answer(root_hangs(root));
    };
    lanes.run(std::move(lane),
              [write = std::move(write), work = std::move(work)] { write->answer(work()); });
    try {
      return result.get();
    } catch (const std::future_error&) {  // the lanes were stopped, and the work was dropped
      return root_hangs(root);
    }
  };
}

}  // namespace signalbox
