#include "store/read_ahead.h"

#include <utility>

namespace signalbox {
namespace {

// Large enough to make the hand-over cost negligible, small enough for a processor's cache.
constexpr std::size_t chunk_bytes = 128 * 1024;

}  // namespace

ReadAhead::ReadAhead(rocksdb::Iterator& entries, std::string last_key)
    : entries_(entries), last_key_(std::move(last_key)), thread_([this] { run(); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const ReadAhead::Chunk& ReadAhead::next() {
  std::unique_lock lock(mutex_);
  if (given_ > 0) {
    chunks_[(given_ - 1) % chunks_.size()].full = false;
    changed_.notify_all();
  }
  const Chunk& chunk = chunks_[given_++ % chunks_.size()];
  changed_.wait(lock, [&chunk] { return chunk.full; });
  return chunk;
}

void ReadAhead::run() {
  for (std::size_t filled = 0;; ++filled) {
    Chunk& chunk = chunks_[filled % chunks_.size()];
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !chunk.full; });
      if (stopping_) return;
    }
    fill(chunk);
    const bool ended = chunk.entries.empty();
    {
      const std::lock_guard lock(mutex_);
      chunk.full = true;
    }
    changed_.notify_all();
    if (ended) return;
  }
}

void ReadAhead::fill(Chunk& chunk) {
  chunk.bytes.clear();
  chunk.entries.clear();
  for (; !past_last_key_ && chunk.bytes.size() < chunk_bytes && entries_.Valid(); entries_.Next()) {
    const std::string_view key = entries_.key().ToStringView();
    past_last_key_ = key > last_key_;
    const std::string_view value = entries_.value().ToStringView();
    chunk.entries.push_back({chunk.bytes.size(), key.size(), value.size()});
    chunk.bytes.append(key).append(value);
  }
}

}  // namespace signalbox
