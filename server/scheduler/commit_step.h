// Runs what rewrites the log between two batches of the commit thread, for work on a lane that has
// to wait for it.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "server/platform/blocking_pool.h"
#include "store/store_error.h"

namespace signalbox {

// Runs `step` by `on_commit_thread` and blocks until it is done. Fails if `stopped` is set, or if
// the commit thread ends before the step.
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
