#include "store/rocks_database.h"

#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include "store/dropped_values.h"
#include "store/head.h"
#include "store/rocks_environment.h"

namespace signalbox {

// The error of RocksDB's own work, its flushes and compactions. A write that waits for that work
// fails then, and says that it is incomplete, not why.
//
// If a table can't be written for lack of space, RocksDB waits for space and retries in a thread,
// and an atomic flush and the closing of the database wait for that thread for ever. So automatic
// recovery is off, and rocks_event_log closes and reopens the database itself.
class BackgroundError final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* automatic) override {
    *automatic = false;
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                         rocksdb::Status* error) override {
    const std::lock_guard lock(mutex_);
    latest_ = *error;
  }

  // Returns the latest error, which RocksDB works under until the database is opened again; ok if
  // there was none. Any thread.
  [[nodiscard]] rocksdb::Status latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  mutable std::mutex mutex_;
  rocksdb::Status latest_;
};

namespace {

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr const char* head_family = "head";
constexpr const char* head_key = "head";
constexpr std::size_t protection_bytes = 8;
// The records of a walk that keeps its blocks in the cache, and of one that reads ahead.
constexpr Position page_records_max = 1024;
constexpr Position long_walk_records_min = 64 * 1024;

// Hides the write-ahead logs, so that opening doesn't replay them.
class WithoutWriteAheadLogs final : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "WithoutWriteAheadLogs"; }
  rocksdb::IOStatus GetChildren(const std::string& directory, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status =
        rocksdb::FileSystemWrapper::GetChildren(directory, options, names, debug);
    std::erase_if(*names, [](const std::string& name) { return name.ends_with(".log"); });
    return status;
  }
};

std::unique_ptr<rocksdb::Env> without_write_ahead_logs(rocksdb::Env* env) {
  if (env == nullptr) env = rocksdb::Env::Default();
  return rocksdb::NewCompositeEnv(std::make_shared<WithoutWriteAheadLogs>(env->GetFileSystem()));
}

rocksdb::DBOptions database_options(RocksDatabase::Mode mode, rocksdb::Env* env) {
  rocksdb::DBOptions options;
  options.env = env;
  options.create_if_missing = mode == RocksDatabase::Mode::create;
  options.create_missing_column_families = mode == RocksDatabase::Mode::create;

  // The default, point in time, treats a bad checksum in the middle of the write-ahead log as its
  // end and silently drops the acknowledged records behind it. This mode drops only what is
  // incomplete at the end of the file; log_opening and wal_file decide what it can't distinguish
  // from that.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.paranoid_checks = true;
  // In `resume` no table is written: it would take as much space again as the write-ahead log.
  options.avoid_flush_during_recovery = mode == RocksDatabase::Mode::resume;
  // Each table file's checksum is stored in the manifest, for verify_files().
  options.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();

  options.max_bgerror_resume_count = 0;

  // These must stay off. A write must be in the file when write() returns; batches must become
  // visible in order; a damaged log must not be repaired by dropping records; wal_file can't
  // truncate a compressed write-ahead log; and tracking its files in the manifest gives false
  // alarms in RocksDB 7.8.
  options.manual_wal_flush = false;
  options.unordered_write = false;
  options.best_efforts_recovery = false;
  options.wal_compression = rocksdb::kNoCompression;
  options.track_and_verify_wals_in_manifest = false;

  // One thread writes, with ascending keys: a non-concurrent insert into the memtable can reuse the
  // last position.
  options.allow_concurrent_memtable_write = false;
  options.enable_write_thread_adaptive_yield = false;
  // Flushes write back incrementally, so that an append's sync doesn't wait for 64 MiB of them.
  options.bytes_per_sync = mebibyte;
  // The statistics aren't used, and collecting them reads from every table file at opening.
  options.skip_stats_update_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;

  // Both families are flushed together. Otherwise the head family, which is small, would retain
  // every write-ahead log since its last flush, and opening would read them all.
  options.atomic_flush = true;
  options.max_total_wal_size = 256 * mebibyte;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(std::size_t buffer_bytes, bool read_only) {
  rocksdb::ColumnFamilyOptions options;
  // A checksum per key in memory, kept from the batch to the table file. A reader writes no tables,
  // and checks the records' own checksums.
  options.memtable_protection_bytes_per_key = read_only ? 0 : protection_bytes;
  // Every table file is read back after it was written, before its write-ahead log is deleted.
  options.paranoid_file_checks = true;
  options.force_consistency_checks = true;

  // write() starts the flushes; RocksDB by itself would start one only at twice that size.
  options.write_buffer_size = 2 * buffer_bytes;
  options.max_write_buffer_number = 3;
  // Ascending keys make files that don't overlap: compaction moves them without rewriting.
  options.compaction_style = rocksdb::kCompactionStyleLevel;
  options.target_file_size_base = 64 * mebibyte;
  options.compression = rocksdb::kLZ4Compression;

  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kCRC32c;
  table.format_version = 5;
  // The log is read in order far more often than by key: larger blocks, no filter.
  table.block_size = 32 * 1024;
  table.block_cache = rocksdb::NewLRUCache(16 * mebibyte);
  // Indexes of old files can be evicted too, so memory use doesn't grow with the log.
  table.cache_index_and_filter_blocks = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Returns the name of the file that the text of a RocksDB status mentions; empty if there is none.
std::string file_in(std::string_view text) {
  const auto separates = [](char c) { return c == ' ' || c == ':' || c == ',' || c == ';'; };
  while (!text.empty()) {
    const auto end = std::ranges::find_if(text, separates);
    const std::string_view word(text.begin(), end);
    const std::string_view name = word.substr(word.rfind('/') + 1);
    if (name.ends_with(".sst") || name.ends_with(".log") || name.starts_with("MANIFEST-") ||
        name == "CURRENT") {
      return std::string(name);
    }
    text.remove_prefix(word.size() + (end == text.end() ? 0 : 1));
  }
  return {};
}

StoreError::Kind kind_of(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return StoreError::Kind::full;
  }
  // A path that doesn't exist is a missing file of the database. Every other status that isn't an
  // I/O error (corruption, an unknown compression, a missing column family) means that the bytes
  // are not those that this program wrote.
  if (status.IsIOError() && status.subcode() != rocksdb::Status::kPathNotFound) {
    return StoreError::Kind::io;
  }
  return StoreError::Kind::damaged;
}

}  // namespace

std::string entry_key(Position first) {
  static_assert(std::endian::native == std::endian::little);
  const Position big_endian = __builtin_bswap64(first);
  std::string key(sizeof big_endian, '\0');
  std::memcpy(key.data(), &big_endian, sizeof big_endian);
  return key;
}

Stored<Position> entry_position(const rocksdb::Slice& key) {
  Position big_endian = 0;
  if (key.size() != sizeof big_endian) {
    return store_failure(StoreError::Kind::damaged, "the log has a key that isn't a position");
  }
  std::memcpy(&big_endian, key.data(), sizeof big_endian);
  return __builtin_bswap64(big_endian);
}

StoreError store_error(const rocksdb::Status& status, const std::filesystem::path& directory) {
  StoreError error;
  error.kind = kind_of(status);
  const std::string file = file_in(status.ToString());
  error.file = (file.empty() ? directory : directory / file).string();
  error.message = "the log in " + directory.string() + ": " + status.ToString();
  return error;
}

Stored<std::unique_ptr<RocksDatabase>> RocksDatabase::open(const std::filesystem::path& directory,
                                                           Mode mode, rocksdb::Env* env,
                                                           std::size_t buffer_bytes) {
  const bool read_only = mode == Mode::read_only || mode == Mode::tables_only;
  std::unique_ptr<rocksdb::Env> own_env;
  if (mode == Mode::tables_only) {
    own_env = without_write_ahead_logs(env);
  } else if (env == nullptr) {
    own_env = private_env();
  }
  if (own_env) env = own_env.get();
  rocksdb::DBOptions options = database_options(mode, env);
  options.max_file_opening_threads = table_opening_threads(directory);
  const auto background = std::make_shared<BackgroundError>();
  options.listeners.push_back(background);
  if (!read_only) options.info_log = rocks_info_log(directory);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family_options(buffer_bytes, read_only)},
      {head_family, family_options(buffer_bytes, read_only)}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* database = nullptr;
  const rocksdb::Status status =
      read_only
          ? rocksdb::DB::OpenForReadOnly(options, directory.string(), families, &handles, &database)
          : rocksdb::DB::Open(options, directory.string(), families, &handles, &database);
  if (!status.ok()) return tl::unexpected(store_error(status, directory));

  std::unique_ptr<RocksDatabase> opened(new RocksDatabase);
  opened->directory_ = directory;
  opened->own_env_ = std::move(own_env);
  opened->background_ = background;
  opened->database_.reset(database);
  opened->entries_ = handles[0];
  opened->head_ = handles[1];
  opened->buffer_bytes_ = buffer_bytes;
  return opened;
}

RocksDatabase::~RocksDatabase() {
  if (database_ == nullptr) return;
  database_->DestroyColumnFamilyHandle(entries_);
  database_->DestroyColumnFamilyHandle(head_);
}

Stored<MerkleFrontier> RocksDatabase::head() const {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      database_->Get(rocksdb::ReadOptions(), head_, rocksdb::Slice(head_key), &value);
  if (status.IsNotFound()) return MerkleFrontier{};
  if (!status.ok()) return tl::unexpected(error(status));
  auto head = decode_head(value.ToStringView());
  if (!head) head.error().file = directory_.string();
  return head;
}

std::unique_ptr<rocksdb::Iterator> RocksDatabase::entries(Position records) const {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = records <= page_records_max;
  // A shorter walk would read and copy what it doesn't visit.
  if (records >= long_walk_records_min) options.readahead_size = 2 * mebibyte;
  return std::unique_ptr<rocksdb::Iterator>(database_->NewIterator(options, entries_));
}

Stored<RocksDatabase::Entry> RocksDatabase::entry_of(Position position) const {
  const std::unique_ptr<rocksdb::Iterator> place = entries(1);
  place->SeekForPrev(entry_key(position));
  if (!place->status().ok()) return tl::unexpected(error(place->status()));
  if (!place->Valid()) {
    StoreError missing;
    missing.kind = StoreError::Kind::damaged;
    missing.message = "it is missing";
    missing.position = position;
    return tl::unexpected(std::move(missing));
  }
  return entry_position(place->key()).map([&](Position first) {
    return Entry{first, place->value().ToString()};
  });
}

rocksdb::WriteBatch RocksDatabase::batch(std::size_t bytes) {
  return rocksdb::WriteBatch(bytes, /*max_bytes=*/0, protection_bytes, /*default_cf_ts_sz=*/0);
}

void RocksDatabase::put_entry(rocksdb::WriteBatch& batch, Position first,
                              std::string_view entry) const {
  // A put can fail only for lack of memory, and that throws.
  batch.Put(entries_, entry_key(first), rocksdb::Slice(entry.data(), entry.size()))
      .PermitUncheckedError();
}

void RocksDatabase::put_head(rocksdb::WriteBatch& batch, std::string_view head) const {
  batch.Put(head_, rocksdb::Slice(head_key), rocksdb::Slice(head.data(), head.size()))
      .PermitUncheckedError();
}

rocksdb::Status RocksDatabase::write(rocksdb::WriteBatch& batch, bool is_synced) {
  rocksdb::WriteOptions options;
  options.sync = is_synced;
  options.protection_bytes_per_key = protection_bytes;
  const std::size_t bytes = batch.GetDataSize();
  rocksdb::Status written = database_->Write(options, &batch);
  if (written.IsIncomplete()) {
    // Nothing was written: the buffers are full, and the work that would empty them has failed.
    rocksdb::Status why = background_->latest();
    if (!why.ok()) return why;
  }
  if (!written.ok()) return written;
  // The flush is started here and not by RocksDB within a write. If the new write-ahead log that
  // belongs to it can't be created, an atomic flush that RocksDB starts loses count of the users of
  // a column family, and closing the database then aborts the process. The next write reports a
  // failure of this flush.
  gathered_bytes_ += bytes;
  if (gathered_bytes_ >= buffer_bytes_) {
    gathered_bytes_ = 0;
    rocksdb::FlushOptions flush;
    flush.wait = false;
    flush.allow_write_stall = true;
    database_->Flush(flush, {entries_, head_}).PermitUncheckedError();
  }
  return written;
}

std::vector<RocksDatabase::Table> RocksDatabase::tables() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  database_->GetLiveFilesMetaData(&files);
  std::vector<Table> tables;
  for (rocksdb::LiveFileMetaData& file : files) {
    tables.push_back({file.relative_filename, file.column_family_name == entries_->GetName(),
                      std::move(file.smallestkey), std::move(file.largestkey)});
  }
  std::ranges::sort(tables, {}, &Table::smallest_key);
  return tables;
}

Stored<void> RocksDatabase::read_rows(Position from, bool with_base) const {
  const std::unique_ptr<rocksdb::Iterator> entry = entries(long_walk_records_min);
  entry->SeekForPrev(entry_key(from));
  if (!entry->Valid() && entry->status().ok()) entry->SeekToFirst();
  while (entry->Valid()) entry->Next();
  if (!entry->status().ok()) return tl::unexpected(error(entry->status()));
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> value(database_->NewIterator(options, head_));
  value->SeekToFirst();
  while (value->Valid()) {
    const std::string_view key = value->key().ToStringView();
    if (key.starts_with(group_prefix)) {
      value->Seek(rocksdb::Slice(group_end));
    } else if (!with_base && key.starts_with(base_prefix)) {
      value->Seek(rocksdb::Slice(base_end));
    } else {
      value->Next();
    }
  }
  if (!value->status().ok()) return tl::unexpected(error(value->status()));
  return {};
}

std::map<std::filesystem::path, std::string> RocksDatabase::checksums() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  database_->GetLiveFilesMetaData(&files);
  std::map<std::filesystem::path, std::string> found;
  for (rocksdb::LiveFileMetaData& file : files) {
    found.emplace(directory_ / file.relative_filename, std::move(file.file_checksum));
  }
  return found;
}

Stored<void> RocksDatabase::verify_files() const {
  const rocksdb::Status status = database_->VerifyFileChecksums(rocksdb::ReadOptions());
  if (!status.ok()) return tl::unexpected(error(status));
  return {};
}

}  // namespace signalbox
