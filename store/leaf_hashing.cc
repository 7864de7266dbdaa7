#include "store/leaf_hashing.h"

#include <algorithm>

#include "domain/check.h"
#include "store/frame.h"

namespace signalbox {
namespace {

// Waking a thread costs about as much as hashing this many leaves.
constexpr std::size_t thread_leaves_min = 64;

}  // namespace

LeafHashing::~LeafHashing() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeafHashing::begin(std::uint64_t first, std::size_t count) {
  leaves_.resize(count);
  added_ = 0;
  before_ = first % subtree_leaves;
  const std::lock_guard lock(mutex_);
  offered_ = 0;
  seen_ = 0;
  next_ = 0;
}

void LeafHashing::add(std::string_view header, std::string_view salted_payload) {
  Leaf& leaf = leaves_[added_++];
  leaf.header = header;
  leaf.salted_payload = salted_payload;
}

void LeafHashing::offer() {
  if (added_ - offered_ < thread_leaves_min) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  {
    const std::lock_guard lock(mutex_);
    offered_ = added_;
    if (busy_) return;  // the worker checks offered_ again when it is done
  }
  changed_.notify_all();
}

void LeafHashing::finish(Sha256& sha256, MerkleFrontier& frontier) {
  SIGNALBOX_CHECK(added_ == leaves_.size());
  hash(added_, sha256);
  {
    std::unique_lock lock(mutex_);
    seen_ = offered_;
    changed_.wait(lock, [this] { return !busy_; });
  }
  for (std::size_t index = 0; index < parts(); ++index) {
    const Part each = part(index);
    if (each.whole()) {
      append_subtree(frontier, leaves_[each.begin].digest, subtree_level, sha256);
    } else {
      for (std::size_t leaf = each.begin; leaf < each.end; ++leaf) {
        append_leaf(frontier, leaves_[leaf].digest, sha256);
      }
    }
  }
}

LeafHashing::Part LeafHashing::part(std::size_t index) const {
  const std::size_t begin = index * subtree_leaves;
  const std::size_t end = begin + subtree_leaves - before_;
  return {begin > before_ ? begin - before_ : 0, std::min(end, leaves_.size())};
}

std::size_t LeafHashing::parts() const {
  return (before_ + leaves_.size() + subtree_leaves - 1) / subtree_leaves;
}

void LeafHashing::run() {
  Sha256 sha256;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || seen_ < offered_; });
    if (stopping_) return;
    busy_ = true;
    const std::size_t leaves = seen_ = offered_;
    lock.unlock();
    hash(leaves, sha256);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void LeafHashing::hash(std::size_t leaves, Sha256& sha256) {
  for (std::size_t index = next_; index < parts();) {
    const Part each = part(index);
    if (each.end > leaves) return;
    if (!next_.compare_exchange_weak(index, index + 1)) continue;
    hash_part(each, sha256);
    index = next_;
  }
}

void LeafHashing::hash_part(const Part& part, Sha256& sha256) {
  for (std::size_t index = part.begin; index < part.end; ++index) {
    Leaf& leaf = leaves_[index];
    leaf.digest = leaf_hash(leaf.header, leaf.salted_payload, sha256);
  }
  if (!part.whole()) return;
  for (std::size_t width = 1; width < subtree_leaves; width *= 2) {
    for (std::size_t index = part.begin; index < part.end; index += 2 * width) {
      Digest& left = leaves_[index].digest;
      left = merkle_node(left, leaves_[index + width].digest, sha256);
    }
  }
}

}  // namespace signalbox
