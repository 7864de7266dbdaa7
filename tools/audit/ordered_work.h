// A pool of threads that works on chunks and returns them in the order in which they were put in.
//
// One thread fills chunks (the producer), one (the same or another) takes them (the consumer); the
// pool's threads work on them. The number of chunks is fixed, and each keeps its memory from one
// use to the next, so that memory use doesn't grow with the amount of work.
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
  // Calls `make_worker` once for each thread; it returns the function that the thread applies to a
  // chunk.
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

  // Returns whether oldest() must be taken before another chunk can be filled. Called by the
  // producer, like the functions up to end().
  [[nodiscard]] bool full() const {
    const std::lock_guard lock(mutex_);
    return is_full();
  }
  // Blocks until it isn't full; returns false if the consumer gave up.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_full() || given_up_; });
    return !given_up_;
  }
  // Returns the chunk to fill next, with the content of its last use. Must not be full().
  Chunk& next() { return slots_[put_ % slots_.size()].chunk; }
  // Passes that chunk to the threads.
  void put() {
    {
      const std::lock_guard lock(mutex_);
      slots_[put_ % slots_.size()].done = false;
      ++put_;
    }
    changed_.notify_all();
  }
  // Declares that no more chunks will be put in.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  // Returns whether all chunks were taken. Called by the consumer, like the functions below.
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return put_ == taken_;
  }
  // Returns the oldest chunk that was put in; blocks until it is done. Must not be empty().
  Chunk& oldest() { return *wait_for_oldest(); }
  // Does the same, but also waits for a chunk to be put in; returns nullptr after end(), when all
  // were taken.
  Chunk* wait_for_oldest() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    changed_.wait(lock, [&] { return put_ == taken_ ? ended_ : slot.done; });
    return put_ == taken_ ? nullptr : &slot.chunk;
  }
  // Releases the oldest chunk, so that it can be filled again.
  void drop_oldest() {
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
    }
    changed_.notify_all();
  }
  // Declares that no more chunks will be taken.
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
    // Leaves processors for the thread that fills and takes, and the one that reads ahead of it.
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
  std::size_t put_ = 0;  // changed by the producer only
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;  // changed by the consumer only
  bool ended_ = false;
  bool given_up_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last member: the threads use the others
};

}  // namespace signalbox
