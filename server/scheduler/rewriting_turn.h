// What a redaction and a retention need to rewrite the past of the log: the turn, which one of them
// has at a time, and steps on the commit thread.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "server/platform/blocking_pool.h"
#include "store/store_error.h"

namespace signalbox {

// Used on the engine thread.
class RewritingTurn {
 public:
  // Returns false if somebody has it.
  [[nodiscard]] bool take() { return !std::exchange(taken_, true); }
  void give_back() { taken_ = false; }

 private:
  bool taken_ = false;
};

// Runs `step` by `on_commit_thread`, between two batches, and blocks until it is done. Called on a
// lane. Fails if `stopped` is set, or if the commit thread ends before the step.
template <class Result>
Stored<Result> run_commit_step(const Post& on_commit_thread, const std::atomic<bool>& stopped,
                               std::function<Stored<Result>()> step) {
  const auto stopping = [] { return store_failure(StoreError::Kind::io, "the service stops"); };
  if (stopped) return stopping();
  auto result = std::make_shared<std::promise<Stored<Result>>>();
  std::future<Stored<Result>> done = result->get_future();
  // The step alone keeps the promise, which is broken if the commit thread ends before it.
  on_commit_thread(
      [result = std::move(result), step = std::move(step)] { result->set_value(step()); });
  try {
    return done.get();
  } catch (const std::future_error&) {
    return stopping();
  }
}

}  // namespace signalbox
