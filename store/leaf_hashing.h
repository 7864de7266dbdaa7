// The Merkle leaves of a batch, hashed by two threads: the appending one and one of its own, which
// begins while the appending one still encodes.
//
// Leaves don't depend on one another, and neither do subtrees; hashing them is the largest part of
// what an append computes while RocksDB waits for it.
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

// begin(), any number of add() and offer(), and finish(), by one thread at a time.
class LeafHashing {
 public:
  LeafHashing() = default;
  ~LeafHashing();
  LeafHashing(const LeafHashing&) = delete;
  LeafHashing& operator=(const LeafHashing&) = delete;

  // A batch of `count` leaves follows, of which the first is the `first`-th of the tree, from 0.
  void begin(std::uint64_t first, std::size_t count);

  // The next leaf. What it is made of must stay where it is until finish().
  void add(std::string_view header, std::string_view salted_payload);

  // Lets the other thread hash what was added. It is woken only for what is worth it.
  void offer();

  // Hashes what is left and appends all to `frontier`. It waits only for what the other thread has
  // under way: one that the system gives no time costs nothing.
  void finish(Sha256& sha256, MerkleFrontier& frontier);

 private:
  // Whole subtrees of so many leaves are hashed at once: some microseconds of work.
  static constexpr unsigned subtree_level = 4;
  static constexpr std::size_t subtree_leaves = std::size_t{1} << subtree_level;

  struct Leaf {
    std::string_view header;
    std::string_view salted_payload;
    Digest digest;  // of the first of a whole subtree: that subtree's
  };
  // A subtree's leaves, or those of them that the batch has.
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
  std::size_t before_ = 0;  // leaves of the first one's subtree that aren't of the batch

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t offered_ = 0;  // leaves that the other thread may look at
  std::size_t seen_ = 0;     // of which it has seen so many
  bool helping_ = false;     // it is at it
  bool stopping_ = false;
  std::atomic<std::size_t> next_ = 0;  // the first part that nobody has taken
  std::thread thread_;                 // from the first large batch on
};

}  // namespace signalbox
