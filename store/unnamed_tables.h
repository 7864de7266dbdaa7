// The check that opening the log for writing deletes no record.
//
// RocksDB takes a MANIFEST that was cut short for a shorter history: when it opens for writing, it
// deletes every table that the rest of the MANIFEST named, and the records in it. A crash leaves
// tables that the MANIFEST doesn't name as well: the output of a flush or compaction that wasn't
// recorded yet, or inputs that weren't deleted yet. What such a table holds is also elsewhere in
// the log. So each table that isn't named is read, and its contents decide.
//
// Internal: only sources include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "store/store_error.h"

namespace rocksdb {
class Env;
}

namespace signalbox {

// Checks that every table that the MANIFEST names is there in its size, that the write-ahead log,
// whose first batch has the number `wal_sequence` (0: none is known), follows on the tables, and
// that every record in the other tables of `directory` is in the log without them. Fails with
// `damaged` if not, and names the file. Reads what the named tables have from the record
// `read_from` on (0: nothing), with the same outcome. Writes nothing and deletes nothing. Without
// unnamed tables it costs an opening of the named ones and that reading, else also a walk over the
// unnamed ones and a replay of the write-ahead log. The database must be closed; `env` isn't owned,
// null for the default.
Stored<void> check_unnamed_tables(const std::filesystem::path& directory, rocksdb::Env* env,
                                  std::size_t buffer_bytes, std::uint64_t wal_sequence,
                                  Position read_from);

}  // namespace signalbox
