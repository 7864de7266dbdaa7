// The Merkle leaves of a batch, hashed by two threads: the appending one and one of its own.
//
// Leaves don't depend on one another, and hashing them is the largest part of what an append
// computes while RocksDB waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>

#include "store/frame.h"

namespace signalbox {

// Where a record's leaf lies in the bytes that it was encoded to, which may still move.
struct LeafPlace {
  std::size_t at = 0;
  std::size_t header_bytes = 0;
  std::size_t salted_payload_bytes = 0;  // right behind the header
};

// start() and finish() in turn, by one thread at a time.
class LeafHashing {
 public:
  LeafHashing() = default;
  ~LeafHashing();
  LeafHashing(const LeafHashing&) = delete;
  LeafHashing& operator=(const LeafHashing&) = delete;

  // Begins to hash each of `places` in `bytes` into its place of `leaves`; all three must last
  // until finish(). A batch that isn't worth a thread is left to finish() alone.
  void start(std::string_view bytes, std::span<const LeafPlace> places, std::span<Digest> leaves);

  // Hashes what is left. It waits only for what the other thread has under way: one that the
  // system gives no time costs nothing.
  void finish(Sha256& sha256);

 private:
  struct Work {
    std::string_view bytes;
    std::span<const LeafPlace> places;
    std::span<Digest> leaves;
  };

  void run();
  void hash(const Work& work, Sha256& sha256);

  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;
  bool offered_ = false;  // to the other thread
  bool helping_ = false;  // it took the offer
  bool stopping_ = false;
  std::atomic<std::size_t> next_ = 0;  // the first leaf that nobody has taken
  std::thread thread_;                 // from the first large batch on
};

}  // namespace signalbox
