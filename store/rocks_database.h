// The RocksDB database that holds the log: its options, its two column families, its errors.
//
// Internal: only sources include it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/merkle_tree.h"
#include "store/redaction.h"
#include "store/store_error.h"

namespace signalbox {

// Returns the key of an entry: the position of its first record, big endian, so that keys sort as
// numbers.
std::string entry_key(Position first);

// Returns the position that a key encodes. Fails with `damaged` if it isn't an entry's key.
Stored<Position> entry_position(const rocksdb::Slice& key);

// Converts a RocksDB status to a StoreError, with the file that its text names.
StoreError store_error(const rocksdb::Status& status, const std::filesystem::path& directory);

class BackgroundError;

class RocksDatabase {
 public:
  enum class Mode {
    create,
    read_write,
    resume,  // like read_write, but keeps the write-ahead log: for a disk that was full a moment
             // ago
    read_only,
    tables_only,  // like read_only, but without what only the write-ahead log has
  };

  // Bytes gathered in memory before they are flushed to a table. At 200,000 events a second of 200
  // bytes each a buffer lasts more than a second. Writing a table takes a fraction of that, so two
  // spare buffers never stall an append.
  static constexpr std::size_t buffer_bytes_default = std::size_t{64} * 1024 * 1024;

  // Opens or, with Mode::create, creates the database. `env` isn't owned; null for
  // private_env(). Errors as store_error().
  static Stored<std::unique_ptr<RocksDatabase>> open(
      const std::filesystem::path& directory, Mode mode, rocksdb::Env* env,
      std::size_t buffer_bytes = buffer_bytes_default);
  ~RocksDatabase();
  RocksDatabase(const RocksDatabase&) = delete;
  RocksDatabase& operator=(const RocksDatabase&) = delete;

  // Returns the tree over the whole log; empty if nothing was ever appended.
  [[nodiscard]] Stored<MerkleFrontier> head() const;

  // Returns an iterator over the entries, for reading about so many records, that verifies the
  // checksum of every block it reads. A long walk bypasses the block cache and reads ahead.
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> entries(Position records) const;

  struct Entry {
    Position first = 0;
    std::string bytes;
  };
  // Returns the last entry that begins at or before `position`; fails with `damaged` if there is
  // none.
  [[nodiscard]] Stored<Entry> entry_of(Position position) const;

  // Returns an empty batch with room for `bytes`, whose keys are protected by checksums.
  static rocksdb::WriteBatch batch(std::size_t bytes);
  void put_entry(rocksdb::WriteBatch& batch, Position first, std::string_view entry) const;
  void put_head(rocksdb::WriteBatch& batch, std::string_view head) const;

  // Returns the keys of the replaced entries whose old bytes may still be in files, concatenated.
  [[nodiscard]] Stored<std::string> erasing() const;
  // Returns the same with the key of the entry at `first`.
  [[nodiscard]] Stored<std::string> erasing_with(Position first) const;
  // Marks the entries with these keys as ones whose old bytes must be erased; none for "". The
  // batch that replaces an entry marks it.
  void put_erasing(rocksdb::WriteBatch& batch, std::string_view keys) const;

  // Returns what is marked, and the files that may hold old bytes of it. Any thread.
  [[nodiscard]] Stored<Erasure> plan_erasure() const;
  // Returns the batch that must be written between plan_erasure() and purge_replaced(): a flush of
  // what it leaves in memory ends every write-ahead log of the plan.
  [[nodiscard]] Stored<rocksdb::WriteBatch> begin_erasure() const;
  // Rewrites the planned tables without the old bytes, and returns the files that must be gone
  // before none is left: those of the plan, and others that were replaced meanwhile. Blocks for as
  // long as it takes to write the tables; fails with `io` soon after `canceled` is set (nullptr: it
  // can't be). Any thread.
  [[nodiscard]] Stored<std::vector<std::filesystem::path>> purge_replaced(
      const Erasure& erasure, std::atomic<bool>* canceled) const;
  // Blocks until those files are gone, or turn out to be new, for at most `wait_max`; then fails
  // with `io`. A reader that began before keeps files until it ends.
  [[nodiscard]] Stored<void> await_removal(const std::vector<std::filesystem::path>& files,
                                           std::chrono::milliseconds wait_max) const;
  // Does both, and makes it durable: for when nobody else uses the log.
  [[nodiscard]] Stored<void> erase_planned(const Erasure& erasure) const;
  // Returns the batch that removes the marks of the erasure, but not later ones.
  [[nodiscard]] Stored<rocksdb::WriteBatch> end_erasure(const Erasure& erasure) const;
  // Writes everything in memory to tables. Any thread.
  [[nodiscard]] Stored<void> flush_memory() const;

  // Returns a value stored beside the head, by key (FORMAT.md lists the keys); nullopt if there is
  // none.
  [[nodiscard]] Stored<std::optional<std::string>> value(std::string_view key) const;
  // Calls `visit(key, value)` for the keys that begin with `prefix`, in order from the first ≥
  // `from`, until it returns false. `from` must begin with `prefix`.
  using VisitValue = std::function<bool(std::string_view key, std::string_view value)>;
  Stored<void> values(std::string_view prefix, std::string_view from,
                      const VisitValue& visit) const;
  void put_value(rocksdb::WriteBatch& batch, std::string_view key, std::string_view value) const;
  void erase_value(rocksdb::WriteBatch& batch, std::string_view key) const;

  // Must be called for every batch that has values but no entry. The column families are flushed
  // together, and if a flush fails RocksDB aborts the process when one of them had nothing to
  // flush.
  void touch_entries(rocksdb::WriteBatch& batch) const;

  // Erases the entries whose first positions are from `first` up to, but excluding, `end`.
  void erase_entries(rocksdb::WriteBatch& batch, Position first, Position end) const;
  // Rewrites the files so that neither a table nor a write-ahead log has any bytes of entries that
  // were erased before `end`. Blocks for as long as it takes to write the entries that are left of
  // them; fails with `io` soon after `canceled` is set (nullptr: it can't be).
  [[nodiscard]] Stored<void> purge_erased(Position end, std::atomic<bool>* canceled) const;

  struct Table {
    std::string name;  // of the file
    bool has_entries = false;
    std::string smallest_key;
    std::string largest_key;
  };
  // Returns the tables that the MANIFEST names, by their smallest key.
  [[nodiscard]] std::vector<Table> tables() const;

  // Writes the batch and syncs the write-ahead log: durable when it returns ok. Without `is_synced`
  // it survives the process at once, and the machine after sync().
  rocksdb::Status write(rocksdb::WriteBatch& batch, bool is_synced = true);
  // Makes what was written without a sync durable.
  rocksdb::Status sync() { return database_->SyncWAL(); }

  // Returns RocksDB's sequence number of the last write; every record of a batch has its own.
  [[nodiscard]] std::uint64_t last_sequence() const { return database_->GetLatestSequenceNumber(); }

  // Reads the entries from the one with the record `from` to the last, and the values, but not the
  // hashes of dropped records, and their base only `with_base`. Fails with `damaged` if a block of
  // theirs isn't as it was written.
  [[nodiscard]] Stored<void> read_rows(Position from, bool with_base) const;
  // Reads every table file and compares it with the checksum recorded when it was written.
  [[nodiscard]] Stored<void> verify_files() const;
  // Returns the checksums that were recorded of the table files when they were written, in the form
  // of file_checksum(), by path.
  [[nodiscard]] std::map<std::filesystem::path, std::string> checksums() const;

  [[nodiscard]] StoreError error(const rocksdb::Status& status) const {
    return store_error(status, directory_);
  }

 private:
  friend class RocksFilling;
  RocksDatabase() = default;

  std::filesystem::path directory_;
  std::unique_ptr<rocksdb::Env> own_env_;  // null if the caller gave one; outlives the database
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::ColumnFamilyHandle* entries_ = nullptr;
  rocksdb::ColumnFamilyHandle* head_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::size_t gathered_bytes_ = 0;  // written since the last flush was started
  std::shared_ptr<BackgroundError> background_;
};

}  // namespace signalbox
