// RocksDB's write-ahead log files, as far as we must understand them: where each batch in one lies.
//
// RocksDB takes whatever is unreadable in the last block of such a file for a write that a crash
// cut short. We look closer before it does: what is unreadable but followed by a later batch isn't
// torn, it is damaged. And after an append that found no space we take off what it left, which
// RocksDB might otherwise recover, although its command was told that nothing was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "store/store_error.h"

namespace signalbox {

// What a crash left at the ends of the files in a database directory.
struct TornTail {
  std::uint64_t bytes = 0;  // at the end of the last file with a batch in it; 0: nothing was torn
};

// `damaged`, naming file and offset, for a batch that can't be read though another follows it.
Stored<TornTail> inspect_wal_files(const std::filesystem::path& directory);

// Cuts every batch off whose RocksDB sequence number is above last_sequence. The database must be
// closed.
Stored<void> cut_wal_files_after(const std::filesystem::path& directory,
                                 std::uint64_t last_sequence);

}  // namespace signalbox
