// Chunks of work that several threads do, taken back in the order in which they were put in.
//
// One thread fills, one (the same or another) takes; the others only work. There is a fixed number
// of chunks, and each keeps its memory from one use to the next, so that memory stays flat over any
// amount of work.
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

  // Of the filling thread. Whether oldest() has to be taken before there is another chunk to fill.
  [[nodiscard]] bool full() const {
    const std::lock_guard lock(mutex_);
    return is_full();
  }
  // Waits until it isn't full; false if the taking thread gave up.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_full() || given_up_; });
    return !given_up_;
  }
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
  // There will be no more.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  // Of the taking thread.
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return put_ == taken_;
  }
  // The oldest chunk that was put in, once it is done. Not while empty().
  Chunk& oldest() { return *wait_for_oldest(); }
  // Waits for one to be put in, too; nullptr when all were taken and there will be no more.
  Chunk* wait_for_oldest() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return put_ == taken_ ? ended_ : slot.done; });
    return put_ == taken_ ? nullptr : &slot.chunk;
  }
  // Its chunk may be filled again.
  void drop_oldest() {
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
    }
    changed_.notify_all();
  }
  // Nothing more will be taken.
  void give_up() {
    {
      const std::lock_guard lock(mutex_);
      given_up_ = true;
    }
    changed_.notify_all();
  }

 private:
  struct Slot {
    Chunk chunk;
    bool done = false;
  };

  [[nodiscard]] bool is_full() const { return put_ - taken_ == slots_.size(); }

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
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t put_ = 0;  // changed by the filling thread only
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;  // changed by the taking thread only
  bool ended_ = false;
  bool given_up_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace signalbox
