// Hashes the Merkle leaves of a batch on two threads: the appending thread and a worker, which
// starts while the appending thread still encodes.
//
// Leaves don't depend on one another, and neither do disjoint subtrees. Hashing them is the largest
// part of an append's computation, and RocksDB waits for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "store/merkle_tree.h"

namespace signalbox {

// Call begin(), any number of add() and offer(), and finish(), from one thread at a time.
class LeafHashing {
 public:
  LeafHashing() = default;
  ~LeafHashing();
  LeafHashing(const LeafHashing&) = delete;
  LeafHashing& operator=(const LeafHashing&) = delete;

  // Starts a batch of `count` leaves. `first` is the index in the tree of the first one, from 0.
  void begin(std::uint64_t first, std::size_t count);

  // Adds the next leaf. The viewed bytes must not move or change until finish().
  void add(std::string_view header, std::string_view salted_payload);

  // Lets the worker hash the leaves added so far. Wakes it only if there are enough of them.
  void offer();

  // Hashes the remaining leaves and appends all to `frontier`. Blocks only for a part that the
  // worker is hashing: a worker that the scheduler gives no time costs nothing.
  void finish(Sha256& sha256, MerkleFrontier& frontier);

 private:
  // Subtrees of this many leaves are the unit of work: some microseconds each.
  static constexpr unsigned subtree_level = 4;
  static constexpr std::size_t subtree_leaves = std::size_t{1} << subtree_level;

  struct Leaf {
    std::string_view header;
    std::string_view salted_payload;
    Digest digest;  // for the first leaf of a whole subtree: that subtree's root
  };
  // The leaves of one subtree, as far as the batch has them: begin … end - 1.
  struct Part {
    std::size_t begin;
    std::size_t end;
    [[nodiscard]] bool whole() const { return end - begin == subtree_leaves; }
  };

  [[nodiscard]] Part part(std::size_t index) const;
  [[nodiscard]] std::size_t parts() const;
  void run();
  void hash(std::size_t leaves, Sha256& sha256);
  void hash_part(const Part& part, Sha256& sha256);

  std::vector<Leaf> leaves_;
  std::size_t added_ = 0;
  std::size_t before_ = 0;  // leaves of the first subtree that precede the batch

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t offered_ = 0;  // leaves that the worker may hash
  std::size_t seen_ = 0;     // the first `seen_` leaves have been noticed by the worker
  bool busy_ = false;        // the worker is hashing
  bool stopping_ = false;
  std::atomic<std::size_t> next_ = 0;  // index of the first unclaimed part
  std::thread thread_;                 // the worker; started by the first large batch
};

}  // namespace signalbox
