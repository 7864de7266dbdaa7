// RocksDB's write-ahead log files, as far as we must understand them: where each batch in one lies.
//
// RocksDB takes whatever is unreadable in the last block of such a file for a write that a crash
// cut short. We look closer before it does: what is unreadable but followed by a later batch isn't
// torn, it is damaged. And after an append that found no space we take off what it left, which
// RocksDB might otherwise recover, although its command was told that nothing was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "store/store_error.h"

namespace signalbox {

// What a crash left at the ends of the files in a database directory.
struct TornTail {
  struct File {
    std::filesystem::path path;
    std::size_t whole_bytes = 0;  // before what is torn
  };
  std::uint64_t bytes = 0;  // 0: nothing was torn
  std::vector<File> files;  // that end in them
};

// `damaged`, naming file and offset, for a batch that can't be read though another follows it.
Stored<TornTail> inspect_wal_files(const std::filesystem::path& directory);

// Takes it off before RocksDB sees it: RocksDB refuses some of what a power loss leaves (zeros,
// with more of the batch behind them), and keeps the file while others are written, where the next
// inspection would find later batches behind a torn one. Afterwards all the files are durable as
// they are. The database must be closed.
Stored<void> cut_torn_tail(const std::filesystem::path& directory, const TornTail& torn);

// Cuts every batch off whose RocksDB sequence number is above last_sequence, durably. The database
// must be closed.
Stored<void> cut_wal_files_after(const std::filesystem::path& directory,
                                 std::uint64_t last_sequence);

}  // namespace signalbox
