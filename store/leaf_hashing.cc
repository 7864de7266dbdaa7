#include "store/leaf_hashing.h"

#include <algorithm>

namespace signalbox {
namespace {

// Taken at a time: some microseconds of work.
constexpr std::size_t leaves_at_once = 16;
// Waking a thread costs about as much as hashing so many.
constexpr std::size_t leaves_worth_a_thread = 64;

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

void LeafHashing::start(std::string_view bytes, std::span<const LeafPlace> places,
                        std::span<Digest> leaves) {
  const bool shared = places.size() >= leaves_worth_a_thread;
  {
    const std::lock_guard lock(mutex_);
    work_ = {bytes, places, leaves};
    next_ = 0;
    offered_ = shared;
  }
  if (!shared) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void LeafHashing::finish(Sha256& sha256) {
  hash(work_, sha256);
  std::unique_lock lock(mutex_);
  offered_ = false;
  changed_.wait(lock, [this] { return !helping_; });
}

void LeafHashing::run() {
  Sha256 sha256;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || offered_; });
    if (stopping_) return;
    offered_ = false;
    helping_ = true;
    const Work work = work_;
    lock.unlock();
    hash(work, sha256);
    lock.lock();
    helping_ = false;
    changed_.notify_all();
  }
}

void LeafHashing::hash(const Work& work, Sha256& sha256) {
  for (;;) {
    const std::size_t begin = next_.fetch_add(leaves_at_once);
    if (begin >= work.places.size()) return;
    const std::size_t end = std::min(begin + leaves_at_once, work.places.size());
    for (std::size_t index = begin; index < end; ++index) {
      const LeafPlace& place = work.places[index];
      const std::string_view header = work.bytes.substr(place.at, place.header_bytes);
      const std::string_view salted_payload =
          work.bytes.substr(place.at + place.header_bytes, place.salted_payload_bytes);
      work.leaves[index] = leaf_hash(header, salted_payload, sha256);
    }
  }
}

}  // namespace signalbox
