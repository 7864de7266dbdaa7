// Work that may block, and the way back: where the service has threads, a simulation has a schedule
// and a test calls at once.
#pragma once

#include <functional>
#include <utility>

namespace signalbox {

// Runs an action later, or at once where nothing else is possible, on the thread that the giver of
// the function names. May be called on any thread.
using Post = std::function<void(std::function<void()> action)>;

class BlockingPool {
 public:
  using Work = std::function<std::function<void()>()>;

  // `to_threads` runs an action on a thread that may block, `to_engine` on the engine's.
  BlockingPool(Post to_threads, Post to_engine)
      : to_threads_(std::move(to_threads)), to_engine_(std::move(to_engine)) {}

  // Runs `work` on a thread that may block, then what it returns on the engine's thread.
  void run(Work work) const {
    to_threads_([work = std::move(work), to_engine = to_engine_] { to_engine(work()); });
  }

 private:
  Post to_threads_;
  Post to_engine_;
};

}  // namespace signalbox
