// Chunks of work that several threads do, taken back in the order in which they were put in.
//
// One thread fills and takes; the others only work. There is a fixed number of chunks, and each
// keeps its memory from one use to the next, so that memory stays flat over any amount of work.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace signalbox {

// `Chunk` is default constructible.
template <class Chunk>
class OrderedWork {
 public:
  // `make_worker` is called once for each thread and gives what that thread does with a chunk.
  using Worker = std::function<void(Chunk&)>;
  explicit OrderedWork(const std::function<Worker()>& make_worker)
      : slots_(2 * threads_wanted() + 2) {
    for (std::size_t count = 0; count < threads_wanted(); ++count) {
      threads_.emplace_back([this, worker = make_worker()] { run(worker); });
    }
  }
  ~OrderedWork() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  // Whether oldest() has to be taken before there is another chunk to fill.
  [[nodiscard]] bool full() const { return put_ - taken_ == slots_.size(); }
  [[nodiscard]] bool empty() const { return put_ == taken_; }

  // The chunk to fill next; as it was left after its last use. Not while full().
  Chunk& next() { return slots_[put_ % slots_.size()].chunk; }
  // Gives that one to the threads.
  void put() {
    {
      const std::lock_guard lock(mutex_);
      slots_[put_ % slots_.size()].done = false;
      ++put_;
    }
    changed_.notify_all();
  }

  // The oldest chunk that was put in, once it is done. Not while empty().
  Chunk& oldest() {
    Slot& slot = slots_[taken_ % slots_.size()];
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&slot] { return slot.done; });
    return slot.chunk;
  }
  // Its chunk may be filled again.
  void drop_oldest() { ++taken_; }

 private:
  struct Slot {
    Chunk chunk;
    bool done = false;
  };

  static std::size_t threads_wanted() {
    // Beside the one that fills and takes, and the one that reads ahead of it.
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 8) - 1;
  }

  void run(const Worker& worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || begun_ < put_; });
      if (stopping_) return;
      Slot& slot = slots_[begun_++ % slots_.size()];
      lock.unlock();
      worker(slot.chunk);
      lock.lock();
      slot.done = true;
      changed_.notify_all();
    }
  }

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t put_ = 0;    // written under the mutex, by the filling thread only
  std::size_t taken_ = 0;  // of the filling thread
  std::size_t begun_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace signalbox
