// What was replaced in the log is taken out of RocksDB's files, not only out of sight.
//
// A Put leaves what it replaces where it is: in write-ahead logs until they go, in tables until
// they are compacted. Here both are done at once, and then looked after: no file that could hold it
// is there any more. The batch that replaces leaves the keys behind, so that what a crash cuts
// short is done at the next opening.
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
// RocksDB removes files by a thread of its own; it takes milliseconds.
constexpr auto removal_wait_max = std::chrono::seconds(10);
constexpr auto removal_look_interval = std::chrono::milliseconds(5);

// The files in which an entry with one of the keys may lie, present or not.
std::vector<std::filesystem::path> files_with(rocksdb::DB& database, const std::string& keys,
                                              const std::string& entries_name,
                                              const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::vector<rocksdb::LiveFileMetaData> tables;
  database.GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (table.column_family_name != entries_name) continue;
    for (std::size_t at = 0; at < keys.size(); at += entry_key_bytes) {
      const std::string key = keys.substr(at, entry_key_bytes);
      if (key < table.smallestkey || table.largestkey < key) continue;
      files.push_back(directory / table.relative_filename);
      break;
    }
  }
  std::error_code failed;  // then the rewriting fails as well
  for (const auto& file : std::filesystem::directory_iterator(directory, failed)) {
    if (file.path().extension() == ".log") files.push_back(file.path());
  }
  return files;
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
  // Something is in memory then, whatever an opening has flushed already; so the flush begins a new
  // write-ahead log, and all that are there now can go.
  rocksdb::WriteBatch again = batch(0);
  again.Put(head_, rocksdb::Slice(erasing_key), keys).PermitUncheckedError();
  touch_entries(again);
  rocksdb::Status status = write(again);
  if (status.ok()) {
    rocksdb::FlushOptions flush;
    flush.allow_write_stall = true;
    status = database_->Flush(flush, {entries_, head_});
  }
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  for (std::size_t at = 0; status.ok() && at < keys.size(); at += entry_key_bytes) {
    const rocksdb::Slice key(keys.data() + at, entry_key_bytes);
    status = database_->CompactRange(options, entries_, &key, &key);
  }
  if (!status.ok()) return tl::unexpected(error(status));

  // A write-ahead log that an opening only read is known to it no more: this looks at what there
  // is, as closing does.
  database_->EnableFileDeletions(/*force=*/true).PermitUncheckedError();
  const auto deadline = std::chrono::steady_clock::now() + removal_wait_max;
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
      std::this_thread::sleep_for(removal_look_interval);
    }
  }
  return sync_directory(directory_);
}

}  // namespace signalbox
