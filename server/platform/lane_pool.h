// Threads that run blocking work in lanes: one for each repository, endpoint or run root, so that
// one that hangs holds up its own lane only.
//
// Lanes take turns. A thread whose work takes longer than `hang_ms` no longer counts as working,
// and another one takes its place, up to `threads_max`. Work can't be taken from a thread that
// hangs in the kernel; what is bounded is how long anybody waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/platform/blocking_pool.h"

namespace signalbox {

class LanePool {
 public:
  struct Bounds {
    std::size_t working_max = 1;       // threads that work at the same time
    std::size_t threads_max = 1;       // all threads: those that hang as well
    std::size_t lane_working_max = 1;  // of one lane; if more than 1, its work isn't in order
    std::size_t lane_waiting_max = 1;  // pieces of work of one lane that have not begun
    std::size_t waiting_max = 0;  // the same of all lanes, but for Lane::has_place; 0: unbounded
    // Threads that work on one disk other than the root file system; 0: all of them. What else
    // touches it fails with `overloaded` as soon as a thread is free for it.
    std::size_t disk_working_max = 0;
    std::int64_t hang_ms = 1;
    int niceness = 0;  // of the threads
  };

  explicit LanePool(const Bounds& bounds);
  // Like stop(), but waits until every thread has ended.
  ~LanePool();
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;

  // Runs `work` when its lane has its turn. Its blocking calls have the lane's deadline, and are
  // canceled by request_stop() (call_bounds.h). lane.failed is called at most once, on this thread
  // or one of the pool: at once if lane_waiting_max or waiting_max is reached, if the lane hangs
  // beyond the deadline of its work, or if all threads hang; else at the deadline. Before work
  // that can become unwanted is counted, what already is gives its place back. Any thread. After
  // request_stop() the work is dropped.
  void run(Lane lane, std::function<void()> work);

  // Fails the work that has not begun and is unwanted now, rather than when its turn comes. Any
  // thread.
  void fail_unwanted();

  // Requests that running work ends, and drops the rest. Doesn't block.
  void request_stop();
  // Stops, and blocks until every thread has ended or `deadline_ms` (CallBounds::now_ms()) has
  // passed. Returns the lanes whose work hangs: their threads may use what the work refers to at
  // any later time, so the process must end without destroying it.
  std::vector<std::string> stop(std::int64_t deadline_ms);

 private:
  struct State;
  // Shared with the threads: one that hangs may outlive this object.
  const std::shared_ptr<State> state_;
};

}  // namespace signalbox
