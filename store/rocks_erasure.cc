// Erases replaced entries physically from RocksDB's files, not only logically.
//
// A Put leaves the old value in write-ahead logs until they are deleted, and in tables until they
// are compacted. Here both are forced at once, and then it is checked that no file that could hold
// the old value exists any more. The batch that replaces an entry also stores its key, so that the
// next opening finishes what a crash interrupts.
//
// The steps allow that others append and read meanwhile. The files are listed first; then one batch
// is written, so that memory isn't empty, and flushed. From then on no listed write-ahead log gets
// further batches, and nothing that is written later can hold the old value.
#include <rocksdb/db.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "domain/try.h"
#include "store/directory_listing.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/rocks_database.h"

namespace signalbox {
namespace {

constexpr const char* erasing_key = "erasing";
constexpr std::size_t entry_key_bytes = sizeof(Position);
// RocksDB removes files on a thread of its own; that takes milliseconds.
constexpr auto removal_wait_max = std::chrono::seconds(10);
// How often and for how long RocksDB may move a table out of the way of its rewriting: both have to
// be over before it is given up.
constexpr int rewritings_max = 20;
constexpr auto rewriting_wait_max = std::chrono::seconds(10);
constexpr auto removal_poll_interval = std::chrono::milliseconds(5);

// Adds the directory's files of this kind to `files`. All of them, or an error: what isn't listed
// would keep what is erased.
Stored<void> add_files(const std::filesystem::path& directory, const char* extension,
                       std::vector<std::filesystem::path>& files) {
  std::error_code failed;
  for (const auto& file : list_directory(directory, failed)) {
    if (file.path().extension() == extension) files.push_back(file.path());
  }
  if (!failed) return {};
  errno = failed.value();
  return tl::unexpected(system_error("list", directory));
}

// Returns the files that may contain an entry with one of the keys, in current or old versions, or
// a base that was replaced: those of the other column family.
Stored<std::vector<std::filesystem::path>> files_with(rocksdb::DB& database,
                                                      const std::string& keys,
                                                      const std::string& entries_name,
                                                      const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::vector<rocksdb::LiveFileMetaData> tables;
  database.GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (table.column_family_name != entries_name) {
      files.push_back(directory / table.relative_filename);
      continue;
    }
    for (std::size_t at = 0; at < keys.size(); at += entry_key_bytes) {
      const std::string key = keys.substr(at, entry_key_bytes);
      if (key < table.smallestkey || table.largestkey < key) continue;
      files.push_back(directory / table.relative_filename);
      break;
    }
  }
  TRY(add_files(directory, ".log", files));
  return files;
}

// Returns whether one of `files` is a table that the database still uses.
bool has_live_table(rocksdb::DB& database, const std::vector<std::filesystem::path>& files,
                    const std::filesystem::path& directory) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  database.GetLiveFilesMetaData(&tables);
  return std::any_of(tables.begin(), tables.end(), [&](const rocksdb::LiveFileMetaData& table) {
    return std::find(files.begin(), files.end(), directory / table.relative_filename) !=
           files.end();
  });
}

bool has_key(std::string_view keys, std::string_view key) {
  for (std::size_t at = 0; at < keys.size(); at += entry_key_bytes) {
    if (keys.substr(at, entry_key_bytes) == key) return true;
  }
  return false;
}

tl::unexpected<StoreError> not_removed(const std::filesystem::path& file) {
  return store_failure(
      StoreError::Kind::io,
      "what was erased may still lie in " + file.string() + ", which the database didn't remove",
      file.string());
}

}  // namespace

Stored<std::string> RocksDatabase::erasing() const {
  std::string keys;
  const rocksdb::Status status =
      database_->Get(rocksdb::ReadOptions(), head_, rocksdb::Slice(erasing_key), &keys);
  if (status.IsNotFound()) return std::string();
  if (!status.ok()) return tl::unexpected(error(status));
  return keys;
}

Stored<std::string> RocksDatabase::erasing_with(Position first) const {
  auto keys = TRY(erasing());
  const std::string key = entry_key(first);
  if (!has_key(keys, key)) keys += key;
  return keys;
}

void RocksDatabase::put_erasing(rocksdb::WriteBatch& batch, std::string_view keys) const {
  if (keys.empty()) {
    batch.Delete(head_, rocksdb::Slice(erasing_key)).PermitUncheckedError();
  } else {
    batch.Put(head_, rocksdb::Slice(erasing_key), rocksdb::Slice(keys.data(), keys.size()))
        .PermitUncheckedError();
  }
}

Stored<void> RocksDatabase::erase_planned(const Erasure& erasure) const {
  const auto replaced = TRY(purge_replaced(erasure, nullptr));
  TRY(await_removal(replaced, removal_wait_max));
  return sync_directory(directory_);
}

Stored<Erasure> RocksDatabase::plan_erasure() const {
  Erasure erasure;
  auto keys = TRY(erasing());
  if (keys.empty()) return erasure;
  erasure.files = TRY(files_with(*database_, keys, entries_->GetName(), directory_));
  erasure.keys = std::move(keys);
  return erasure;
}

Stored<rocksdb::WriteBatch> RocksDatabase::begin_erasure() const {
  const auto keys = TRY(erasing());
  rocksdb::WriteBatch again = batch(0);
  put_erasing(again, keys);
  touch_entries(again);
  return again;
}

Stored<void> RocksDatabase::flush_memory() const {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  const rocksdb::Status status = database_->Flush(options, {entries_, head_});
  if (!status.ok()) return tl::unexpected(error(status));
  return {};
}

Stored<std::vector<std::filesystem::path>> RocksDatabase::purge_replaced(
    const Erasure& erasure, std::atomic<bool>* canceled) const {
  TRY(flush_memory());
  // A compaction that was under way when the erasure was planned may have copied the old bytes to a
  // table that isn't in the plan. It ends before this one begins, which then replaces that table.
  std::vector<std::filesystem::path> replaced = erasure.files;
  TRY(add_files(directory_, ".sst", replaced));
  const std::string& keys = erasure.keys;
  const auto deadline = std::chrono::steady_clock::now() + rewriting_wait_max;
  rocksdb::CompactRangeOptions options;
  options.canceled = canceled;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  rocksdb::Status status;
  // A compaction of RocksDB's own may move a file to another level meanwhile, where this one
  // doesn't look for it any more.
  bool again_needed = true;
  for (int rewritings = 1; again_needed; ++rewritings) {
    for (std::size_t at = 0; status.ok() && at < keys.size(); at += entry_key_bytes) {
      const rocksdb::Slice key(keys.data() + at, entry_key_bytes);
      status = database_->CompactRange(options, entries_, &key, &key);
    }
    // Texts of a record that was kept before the horizon were in a base, too (FORMAT.md).
    if (status.ok()) status = database_->CompactRange(options, head_, nullptr, nullptr);
    if (!status.ok()) return tl::unexpected(error(status));
    again_needed = has_live_table(*database_, erasure.files, directory_);
    if (again_needed && rewritings >= rewritings_max &&
        std::chrono::steady_clock::now() >= deadline) {
      return not_removed(directory_);
    }
  }
  // RocksDB no longer tracks a write-ahead log that the opening only read. This call scans the
  // directory for obsolete files, as closing does.
  database_->EnableFileDeletions(/*force=*/true).PermitUncheckedError();
  std::erase_if(replaced, [this](const std::filesystem::path& file) {
    return has_live_table(*database_, {file}, directory_);
  });
  return replaced;
}

Stored<void> RocksDatabase::await_removal(const std::vector<std::filesystem::path>& files,
                                          std::chrono::milliseconds wait_max) const {
  const auto deadline = std::chrono::steady_clock::now() + wait_max;
  for (const std::filesystem::path& file : files) {
    std::error_code failed;
    while (std::filesystem::exists(file, failed) &&
           !has_live_table(*database_, {file}, directory_)) {
      if (std::chrono::steady_clock::now() >= deadline) return not_removed(file);
      std::this_thread::sleep_for(removal_poll_interval);
    }
  }
  return {};
}

Stored<rocksdb::WriteBatch> RocksDatabase::end_erasure(const Erasure& erasure) const {
  const auto present = TRY(erasing());
  std::string later;
  for (std::size_t at = 0; at < present.size(); at += entry_key_bytes) {
    const std::string key = present.substr(at, entry_key_bytes);
    if (!has_key(erasure.keys, key)) later += key;
  }
  rocksdb::WriteBatch done = batch(0);
  put_erasing(done, later);
  touch_entries(done);
  return done;
}

}  // namespace signalbox
