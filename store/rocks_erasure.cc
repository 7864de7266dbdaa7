// Erases replaced entries physically from RocksDB's files, not only logically.
//
// A Put leaves the old value in write-ahead logs until they are deleted, and in tables until they
// are compacted. Here both are forced at once, and then it is checked that no file that could hold
// the old value exists any more. The batch that replaces an entry also stores its key, so that the
// next opening finishes what a crash interrupts.
#include <rocksdb/db.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "domain/try.h"
#include "store/durable_file.h"
#include "store/rocks_database.h"

namespace signalbox {
namespace {

constexpr const char* erasing_key = "erasing";
constexpr std::size_t entry_key_bytes = sizeof(Position);
// RocksDB removes files on a thread of its own; that takes milliseconds.
constexpr auto removal_wait_max = std::chrono::seconds(10);
constexpr auto removal_poll_interval = std::chrono::milliseconds(5);

// Returns the files that may contain an entry with one of the keys, in current or old versions, or
// a base that was replaced: those of the other column family.
std::vector<std::filesystem::path> files_with(rocksdb::DB& database, const std::string& keys,
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
  std::error_code failed;  // ignored: then rewriting fails as well
  for (const auto& file : std::filesystem::directory_iterator(directory, failed)) {
    if (file.path().extension() == ".log") files.push_back(file.path());
  }
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

}  // namespace

void RocksDatabase::put_erasing(rocksdb::WriteBatch& batch, Position first) const {
  batch.Put(head_, rocksdb::Slice(erasing_key), entry_key(first)).PermitUncheckedError();
}

Stored<std::string> RocksDatabase::erasing() const {
  std::string keys;
  const rocksdb::Status status =
      database_->Get(rocksdb::ReadOptions(), head_, rocksdb::Slice(erasing_key), &keys);
  if (status.IsNotFound()) return std::string();
  if (!status.ok()) return tl::unexpected(error(status));
  return keys;
}

Stored<void> RocksDatabase::erase_replaced() {
  const auto keys = TRY(erasing());
  if (keys.empty()) return {};
  if (auto rewritten = rewrite_tables(keys); !rewritten) return rewritten;
  rocksdb::WriteBatch done = batch(0);
  done.Delete(head_, rocksdb::Slice(erasing_key)).PermitUncheckedError();
  touch_entries(done);
  if (const rocksdb::Status written = write(done); !written.ok()) {
    return tl::unexpected(error(written));
  }
  return {};
}

Stored<void> RocksDatabase::rewrite_tables(const std::string& keys) {
  const auto before = files_with(*database_, keys, entries_->GetName(), directory_);
  // Writes the key again, so that memory isn't empty even if the opening flushed everything. The
  // flush then starts a new write-ahead log, and all existing ones can be deleted.
  rocksdb::WriteBatch again = batch(0);
  again.Put(head_, rocksdb::Slice(erasing_key), keys).PermitUncheckedError();
  touch_entries(again);
  rocksdb::Status status = write(again);
  if (status.ok()) {
    rocksdb::FlushOptions flush;
    flush.allow_write_stall = true;
    status = database_->Flush(flush, {entries_, head_});
  }
  const auto deadline = std::chrono::steady_clock::now() + removal_wait_max;
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  bool again_needed = status.ok();
  // A compaction of RocksDB's own may move a file to another level meanwhile, where this one
  // doesn't look for it any more.
  while (again_needed) {
    for (std::size_t at = 0; status.ok() && at < keys.size(); at += entry_key_bytes) {
      const rocksdb::Slice key(keys.data() + at, entry_key_bytes);
      status = database_->CompactRange(options, entries_, &key, &key);
    }
    // Texts of a record that was kept before the horizon were in a base, too (FORMAT.md).
    if (status.ok()) status = database_->CompactRange(options, head_, nullptr, nullptr);
    again_needed = status.ok() && std::chrono::steady_clock::now() < deadline &&
                   has_live_table(*database_, before, directory_);
  }
  if (!status.ok()) return tl::unexpected(error(status));

  // RocksDB no longer tracks a write-ahead log that the opening only read. This call scans the
  // directory for obsolete files, as closing does.
  database_->EnableFileDeletions(/*force=*/true).PermitUncheckedError();
  for (const std::filesystem::path& file : before) {
    std::error_code failed;
    while (std::filesystem::exists(file, failed)) {
      if (std::chrono::steady_clock::now() >= deadline) {
        StoreError still_there;
        still_there.kind = StoreError::Kind::io;
        still_there.message = "what was erased may still lie in " + file.string() +
                              ", which the database didn't remove";
        still_there.file = file.string();
        return tl::unexpected(std::move(still_there));
      }
      std::this_thread::sleep_for(removal_poll_interval);
    }
  }
  return sync_directory(directory_);
}

}  // namespace signalbox
