// Fills an empty log database with rows whose keys ascend.
//
// The rows go to tables that RocksDB then takes over as they are, all at once. So each byte is
// written once, where appends write it to a write-ahead log, to a table and to the tables of
// compactions; memory has a block of each family; and a full disk is an error of the call that met
// it, not of a thread in the background.
//
// Internal: only sources include it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "store/rocks_database.h"

namespace signalbox {

class RocksFilling {
 public:
  // `database` must be empty, and outlive this. The tables are written in the directory `scratch`,
  // which must be on the database's disk, and is made and removed.
  RocksFilling(RocksDatabase& database, std::filesystem::path scratch);
  // Removes what finish() didn't add.
  ~RocksFilling();
  RocksFilling(const RocksFilling&) = delete;
  RocksFilling& operator=(const RocksFilling&) = delete;

  // Add a row after the others of its family. Fail as store_error().
  Stored<void> put_entry(Position first, std::string_view entry);
  Stored<void> put_value(std::string_view key, std::string_view value);

  // Adds all rows to the database: durable when it returns ok. At least one must have been put.
  Stored<void> finish();

 private:
  struct Family {
    rocksdb::IngestExternalFileArg tables;
    std::unique_ptr<rocksdb::SstFileWriter> writer;  // null: no table is begun
  };
  Stored<void> put(Family& family, const rocksdb::Slice& key, std::string_view value);
  Stored<void> begin_table(Family& family);
  Stored<void> end_table(Family& family);

  RocksDatabase& database_;
  std::filesystem::path scratch_;
  Family entries_;
  Family values_;
  int tables_ = 0;
};

}  // namespace signalbox
