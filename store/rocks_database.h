// The RocksDB database that holds the log: its settings, its two column families, its errors.
//
// Internal: only sources include it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace signalbox {

// The key of an entry: the position of its first record, big endian, so that keys sort as numbers.
std::string entry_key(Position first);

// `damaged` if it isn't one.
Stored<Position> entry_position(const rocksdb::Slice& key);

// What a status means for us, with the file that its text names.
StoreError store_error(const rocksdb::Status& status, const std::filesystem::path& directory);

class RocksDatabase {
 public:
  enum class Mode {
    create,
    read_write,
    resume,  // as read_write, but keeps the write-ahead log: on a disk that was full a moment ago
    read_only,
  };

  // What is gathered in memory before it goes to a table. At 200,000 events a second of 200 bytes
  // it lasts more than a second; writing one takes a fraction of that, so two in reserve never
  // stall an append.
  static constexpr std::size_t buffer_bytes_default = std::size_t{64} * 1024 * 1024;

  static Stored<std::unique_ptr<RocksDatabase>> open(
      const std::filesystem::path& directory, Mode mode, rocksdb::Env* env,
      std::size_t buffer_bytes = buffer_bytes_default);
  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  // The tree over the whole log; empty if nothing was appended ever.
  [[nodiscard]] Stored<MerkleFrontier> head() const;

  // Over the entries; checks every block it reads.
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> entries(bool whole_log) const;

  struct Entry {
    Position first = 0;
    std::string bytes;
  };
  // The last entry that begins at or before `position`; `damaged` if there is none.
  [[nodiscard]] Stored<Entry> entry_of(Position position) const;

  static rocksdb::WriteBatch batch(std::size_t bytes);
  void put_entry(rocksdb::WriteBatch& batch, Position first, std::string_view entry) const;
  void put_head(rocksdb::WriteBatch& batch, std::string_view head) const;

  // The entry at `first` is replaced in this batch, and the old one has to go.
  void put_erasing(rocksdb::WriteBatch& batch, Position first) const;
  // Sees to it that no file holds an entry any more that such a batch replaced. Costs nothing if
  // there is none; else the tables that it may lie in are written anew.
  Stored<void> erase_replaced();

  // What lies beside the head, by key; FORMAT.md has the keys.
  [[nodiscard]] Stored<std::optional<std::string>> value(std::string_view key) const;
  // Calls `visit(key, value)` with those whose keys begin with `prefix`, from the first ≥ `from`
  // on, until it returns false. `from` begins with `prefix`.
  using VisitValue = std::function<bool(std::string_view key, std::string_view value)>;
  Stored<void> values(std::string_view prefix, std::string_view from,
                      const VisitValue& visit) const;
  void put_value(rocksdb::WriteBatch& batch, std::string_view key, std::string_view value) const;
  void erase_value(rocksdb::WriteBatch& batch, std::string_view key) const;

  // Has to be in every batch that has values and no entry. The column families are flushed
  // together, and where a flush fails RocksDB aborts the process if one of them had nothing to be
  // flushed.
  void touch_entries(rocksdb::WriteBatch& batch) const;

  // The entries whose first positions are from `first` to before `end`.
  void erase_entries(rocksdb::WriteBatch& batch, Position first, Position end) const;
  // Rewrites the files so that nothing of the entries that were erased before `end` is in them, nor
  // in a write-ahead log. Takes as long as writing what is left of them.
  [[nodiscard]] Stored<void> forget_erased(Position end) const;

  // Durable when it returns ok.
  rocksdb::Status write(rocksdb::WriteBatch& batch);

  // RocksDB's own number of the last write; every record in a batch has one.
  [[nodiscard]] std::uint64_t last_sequence() const { return database_->GetLatestSequenceNumber(); }

  // Reads every table file and compares it with the checksum it was written with.
  [[nodiscard]] Stored<void> verify_files() const;

  [[nodiscard]] StoreError error(const rocksdb::Status& status) const {
    return store_error(status, directory_);
  }

 private:
  RocksDatabase() = default;

  // The keys of entries that were replaced, one behind the other.
  [[nodiscard]] Stored<std::string> erasing() const;
  Stored<void> rewrite_tables(const std::string& keys);

  std::filesystem::path directory_;
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::ColumnFamilyHandle* entries_ = nullptr;
  rocksdb::ColumnFamilyHandle* head_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::size_t gathered_bytes_ = 0;  // written since the last table was begun
};

}  // namespace signalbox
