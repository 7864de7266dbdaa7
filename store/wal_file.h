// RocksDB's write-ahead log files, parsed as far as is needed to find each batch.
//
// RocksDB treats anything unreadable in the last block of such a file as a write that a crash
// interrupted. This check is stricter and runs first: an unreadable batch that is followed by a
// later one isn't torn but damaged. And after an append that found no space, what it left is
// truncated here: RocksDB might otherwise recover it, although the command's caller was told that
// nothing was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/store_error.h"

namespace signalbox {

// What the files in a database directory hold, and the incomplete batches that a crash left at
// their ends.
struct TornTail {
  struct File {
    std::filesystem::path path;
    std::size_t whole_bytes = 0;       // bytes before a torn batch
    std::size_t last_batch_begin = 0;  // whole_bytes: there is no complete batch
    bool torn = false;
  };
  std::uint64_t bytes = 0;  // torn in all files together; 0: nothing was torn
  std::vector<File> files;  // all files, oldest first

  // Number of the first complete batch that all later ones follow without a gap; 0: there is none.
  std::uint64_t first_sequence = 0;
  std::string last_batch;  // RocksDB's encoding of the last complete batch
};

// Finds torn batches at the ends of the files. Fails with `damaged`, naming file and offset, for an
// unreadable batch that is followed by another, and for a file that repeats the one before it.
Stored<TornTail> inspect_wal_files(const std::filesystem::path& directory);

// Calls `each` for every complete batch, in RocksDB's encoding, oldest first.
Stored<void> for_each_batch(const std::filesystem::path& directory,
                            const std::function<void(const std::string& batch)>& each);

// Truncates the torn tails before RocksDB reads the files, and makes what is before them durable.
// RocksDB refuses some of what a power loss leaves (zeros, with more of the batch behind them). It
// also keeps such a file while it writes others, and the next inspection would then find later
// batches behind a torn one. The database must be closed.
Stored<void> cut_torn_tail(const TornTail& wal);

// Truncates every batch whose RocksDB sequence number is above last_sequence, durably. The database
// must be closed.
Stored<void> cut_wal_files_after(const std::filesystem::path& directory,
                                 std::uint64_t last_sequence);

}  // namespace signalbox
