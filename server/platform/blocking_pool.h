// Runs work that may block off the engine's thread and returns to that thread with its result. The
// service passes functions that post to threads; a simulation passes its schedule; a test passes
// direct calls.
#pragma once

#include <functional>
#include <utility>

namespace signalbox {

// Runs an action later, or at once where that is the only possibility. The owner of the function
// decides on which thread. May be called on any thread.
using Post = std::function<void(std::function<void()> action)>;

class BlockingPool {
 public:
  // Runs on a thread that may block and returns the continuation, which runs on the engine's
  // thread.
  using Work = std::function<std::function<void()>()>;

  // `to_threads` runs an action on a thread that may block, `to_engine` on the engine's.
  BlockingPool(Post to_threads, Post to_engine)
      : to_threads_(std::move(to_threads)), to_engine_(std::move(to_engine)) {}

  // Runs `work` on a thread that may block, then the continuation that it returns on the engine's
  // thread.
  void run(Work work) const {
    to_threads_([work = std::move(work), to_engine = to_engine_] { to_engine(work()); });
  }

 private:
  Post to_threads_;
  Post to_engine_;
};

}  // namespace signalbox
