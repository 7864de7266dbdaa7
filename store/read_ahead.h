// Read-ahead for a long walk over the log: a thread copies entries out of the database while the
// caller processes the ones before.
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
  // Reads from the current entry of `entries` up to and including the first key past `last_key`: if
  // entries are missing at the end of a walk, that key reveals it. The iterator must not be used
  // until this object is destroyed; its status() then says whether an error ended the reading.
  ReadAhead(rocksdb::Iterator& entries, std::string last_key);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Chunk {
    struct Entry {
      std::size_t at;  // offset of the key in `bytes`
      std::size_t key_bytes;
      std::size_t value_bytes;
    };
    std::string bytes;  // key and value of each entry, concatenated
    std::vector<Entry> entries;
    bool full = false;  // filled, and not yet returned by the reader

    [[nodiscard]] std::string_view key(const Entry& entry) const {
      return {bytes.data() + entry.at, entry.key_bytes};
    }
    [[nodiscard]] std::string_view value(const Entry& entry) const {
      return {bytes.data() + entry.at + entry.key_bytes, entry.value_bytes};
    }
  };

  // Returns the entries that follow, valid until the next call; no entries at the end. Blocks until
  // they are read.
  const Chunk& next();

 private:
  void run();
  void fill(Chunk& chunk);

  rocksdb::Iterator& entries_;
  const std::string last_key_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Chunk, 2> chunks_;  // one is processed while the other is filled
  std::size_t given_ = 0;        // number of chunks that next() returned
  bool past_last_key_ = false;   // a key past last_key_ was read; used by the thread only
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace signalbox
