// Reading ahead on a long walk through the log: a thread that copies entries out of the database
// while those before them are decoded and folded.
//
// Internal: only sources include it.
#pragma once

#include <rocksdb/iterator.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace signalbox {

class ReadAhead {
 public:
  // Goes on where `entries` is, up to the first key past `last_key`, which is given too: where
  // entries are missing at the end of a walk, that one tells it. The iterator may be used again
  // only when this is gone; then it tells whether an error ended the reading.
  ReadAhead(rocksdb::Iterator& entries, std::string last_key);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Chunk {
    struct Entry {
      std::size_t at;
      std::size_t key_bytes;
      std::size_t value_bytes;
    };
    std::string bytes;  // key and value of each, one behind the other
    std::vector<Entry> entries;
    bool full = false;  // filled, and not given back yet

    [[nodiscard]] std::string_view key(const Entry& entry) const {
      return {bytes.data() + entry.at, entry.key_bytes};
    }
    [[nodiscard]] std::string_view value(const Entry& entry) const {
      return {bytes.data() + entry.at + entry.key_bytes, entry.value_bytes};
    }
  };

  // The entries that follow, until the next call; none at the end.
  const Chunk& next();

 private:
  void run();
  void fill(Chunk& chunk);

  rocksdb::Iterator& entries_;
  const std::string last_key_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Chunk, 2> chunks_;  // one is read while the other is filled
  std::size_t given_ = 0;        // how many next() gave
  bool past_ = false;            // `last_key`; of the thread
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace signalbox
