// What RocksDB gets from this program instead of its own: the environment in which it creates
// files, its info log, and how many threads open its tables.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace rocksdb {
class Env;
class Logger;
}  // namespace rocksdb

namespace signalbox {

// Returns an environment over RocksDB's default one that creates files with mode 0600 and
// directories with 0700, instead of RocksDB's own 0644 and 0755, whatever the umask is. It must
// outlive the databases that use it.
//
// The umask can't do this: it belongs to the whole process, and jobs and git inherit it.
std::unique_ptr<rocksdb::Env> private_env();

// Opens a new info log for people, with warnings and errors: LOG in `directory`. The one of the
// opening before becomes LOG.old. Each has at most 1 MiB.
//
// RocksDB's own logger writes like its data files, and aborts the process that writes again after a
// failed write: on a full disk, the second warning ends the server. This logger drops lines that it
// can't write.
std::shared_ptr<rocksdb::Logger> rocks_info_log(const std::filesystem::path& directory);

// Returns with how many threads the database in `directory` is opened: one for each 16 tables, at
// least 1 and at most 16. By itself RocksDB starts 15 for each column family, even if there are no
// tables, which takes a quarter of the time in which a server with a short log starts.
int table_opening_threads(const std::filesystem::path& directory);

}  // namespace signalbox
