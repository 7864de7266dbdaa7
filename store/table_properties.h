// The check of what RocksDB takes from a table before it verifies it.
//
// When RocksDB 7.8 opens a table, it reads the block of properties, and looks at the last word of
// it before it compares the block's checksum: a bit there says that a hash index follows, which
// properties never have. Debian's RocksDB is built with assertions, so if that bit flips it ends
// the process, and nothing says which file is damaged.
//
// Internal: only sources include it.
#pragma once

#include <filesystem>

#include "store/store_error.h"

namespace signalbox {

// Fails with `damaged`, and names the file, if that bit is set in a table of `directory`. Says
// nothing of tables that are damaged otherwise or can't be read: RocksDB does. It costs three short
// reads for each table. The format is that of block-based tables from version 1 on
// (https://github.com/facebook/rocksdb/wiki/Rocksdb-BlockBasedTable-Format).
Stored<void> check_table_properties(const std::filesystem::path& directory);

}  // namespace signalbox
