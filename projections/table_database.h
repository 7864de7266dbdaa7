// The RocksDB database of a table (rocks_table.h): how it is opened, and what its errors mean.
#pragma once

#include <filesystem>
#include <memory>

#include "store/store_error.h"

namespace rocksdb {
class DB;
class Env;
class Status;
}  // namespace rocksdb

namespace signalbox {

enum class TableMode {
  read_write,
  read_only,
  movable,  // like read_only, but its directory may be renamed: all files are held open
};

// Opens the database in `directory`, or creates it with TableMode::read_write. It keeps `env` as
// long as it is open. Fails as table_error() says, and with `damaged` if its MANIFEST is shorter
// than it was.
Stored<std::shared_ptr<rocksdb::DB>> open_table_database(const std::filesystem::path& directory,
                                                         const std::shared_ptr<rocksdb::Env>& env,
                                                         TableMode mode);

// Returns the error for a status that isn't ok: `full`, `in_use`, `io`, or else `damaged`.
StoreError table_error(const rocksdb::Status& status, const std::filesystem::path& directory);

// Fails with `full` or `io` unless a database in `directory` could be written at present.
Stored<void> check_writable(const std::filesystem::path& directory);

}  // namespace signalbox
