// The part of RocksDatabase that dropping records needs: values beside the head, and erasing
// entries including their bytes on disk.
#include "store/rocks_database.h"

namespace signalbox {
namespace {

rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

Stored<std::optional<std::string>> RocksDatabase::value(std::string_view key) const {
  std::string value;
  const rocksdb::Status status =
      database_->Get(rocksdb::ReadOptions(), head_, slice_of(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return tl::unexpected(error(status));
  return value;
}

Stored<void> RocksDatabase::values(std::string_view prefix, std::string_view from,
                                   const VisitValue& visit) const {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> each(database_->NewIterator(options, head_));
  for (each->Seek(slice_of(from)); each->Valid(); each->Next()) {
    const std::string_view key = each->key().ToStringView();
    if (!key.starts_with(prefix) || !visit(key, each->value().ToStringView())) break;
  }
  if (!each->status().ok()) return tl::unexpected(error(each->status()));
  return {};
}

void RocksDatabase::put_value(rocksdb::WriteBatch& batch, std::string_view key,
                              std::string_view value) const {
  batch.Put(head_, slice_of(key), slice_of(value)).PermitUncheckedError();
}

void RocksDatabase::erase_value(rocksdb::WriteBatch& batch, std::string_view key) const {
  batch.Delete(head_, slice_of(key)).PermitUncheckedError();
}

void RocksDatabase::touch_entries(rocksdb::WriteBatch& batch) const {
  batch.Delete(entries_, entry_key(0)).PermitUncheckedError();  // no record has this position
}

void RocksDatabase::erase_entries(rocksdb::WriteBatch& batch, Position first, Position end) const {
  batch.DeleteRange(entries_, entry_key(first), entry_key(end)).PermitUncheckedError();
}

Stored<void> RocksDatabase::purge_erased(Position end, std::atomic<bool>* canceled) const {
  rocksdb::FlushOptions flush;
  flush.wait = true;
  rocksdb::Status status = database_->Flush(flush, {entries_, head_});
  if (!status.ok()) return tl::unexpected(error(status));
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = true;
  options.canceled = canceled;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  const std::string limit = entry_key(end);
  const rocksdb::Slice until(limit);
  status = database_->CompactRange(options, entries_, nullptr, &until);
  if (status.ok()) status = database_->CompactRange(options, head_, nullptr, nullptr);
  if (!status.ok()) return tl::unexpected(error(status));
  return {};
}

}  // namespace signalbox
