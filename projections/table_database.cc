#include "projections/table_database.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <mutex>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "projections/manifest_length.h"
#include "store/durable_file.h"
#include "store/rocks_environment.h"
#include "store/table_properties.h"

namespace signalbox {
namespace {

// Free space needed to reopen after a full disk: the contents of the write-ahead log are then
// written to a table.
constexpr std::uint64_t resume_bytes_min = 32 << 20;

// The writer decides when to continue after an error (reopen). RocksDB's automatic recovery from a
// full disk continues with a file that couldn't be written, and then aborts the process.
class NoAutoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// Notes the length of the MANIFEST after each flush and compaction, which RocksDB reports once they
// are recorded there. It calls this on its threads.
class ManifestLength final : public rocksdb::EventListener {
 public:
  explicit ManifestLength(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { note(); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { note(); }
  void note() {
    const std::lock_guard lock(mutex_);
    note_manifest_length(directory_);
  }

 private:
  const std::filesystem::path directory_;
  std::mutex mutex_;
};

rocksdb::Options table_options(const std::filesystem::path& directory, rocksdb::Env& env) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // In parts of some KiB. Whole, the filter of a large file is larger than a shard of the cache,
  // and every lookup reads megabytes.
  blocks.partition_filters = true;
  blocks.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  blocks.block_cache = rocksdb::NewLRUCache(32 << 20);
  // Indexes and filters of old runs can be evicted like any other block, so memory doesn't grow
  // with history.
  blocks.cache_index_and_filter_blocks = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;

  rocksdb::Options options;
  options.env = &env;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  options.write_buffer_size = 16 << 20;
  options.max_write_buffer_number = 3;
  options.max_total_wal_size = 64 << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  options.max_file_opening_threads = table_opening_threads(directory);
  // Keys of one kind come in nearly ascending order, and one thread writes. With the kind (a
  // letter, and a byte that may refine it) as the prefix, the memtable starts the search for an
  // insert at the last one.
  options.allow_concurrent_memtable_write = false;
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
  // Index entries of transient states are erased soon. Without this, a scan of "running" reads the
  // tombstones of all runs there ever were.
  options.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(4096, 2048));
  options.listeners.push_back(std::make_shared<NoAutoRecovery>());
  // RocksDB's own logger aborts the process at its second warning on a full disk.
  options.info_log = rocks_info_log(directory);
  return options;
}

}  // namespace

StoreError table_error(const rocksdb::Status& status, const std::filesystem::path& directory) {
  StoreError error;
  error.file = directory.string();
  error.message = "the read models in " + directory.string() + ": " + status.ToString();
  if (status.IsNoSpace()) {
    error.kind = StoreError::Kind::full;
  } else if (status.IsIOError() && error.message.find("/LOCK: ") != std::string::npos &&
             error.message.find("open a file for lock") == std::string::npos) {
    error.kind = StoreError::Kind::in_use;
  } else if (status.IsIOError() && !status.IsPathNotFound()) {
    error.kind = StoreError::Kind::io;
  } else {
    error.kind = StoreError::Kind::damaged;
  }
  return error;
}

Stored<void> check_writable(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "can-be-written";
  auto written = replace_file(file, "1");
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::error_code unknown;  // on an error `available` is the maximum value, so the attempt is made
  if (written && std::filesystem::space(directory, unknown).available < resume_bytes_min) {
    return store_failure(StoreError::Kind::full,
                         "too little space left on device: " + directory.string(),
                         directory.string());
  }
  return written;
}

Stored<std::shared_ptr<rocksdb::DB>> open_table_database(const std::filesystem::path& directory,
                                                         const std::shared_ptr<rocksdb::Env>& env,
                                                         TableMode mode) {
  TRY(check_manifest_length(directory));
  TRY(check_table_properties(directory));
  const bool read_only = mode != TableMode::read_write;
  rocksdb::DB* opened = nullptr;
  rocksdb::Options options = table_options(directory, *env);
  options.create_if_missing = !read_only;
  if (mode == TableMode::movable) options.max_open_files = -1;
  const auto manifest_length = std::make_shared<ManifestLength>(directory);
  options.listeners.push_back(manifest_length);
  const auto status = read_only ? rocksdb::DB::OpenForReadOnly(options, directory.string(), &opened)
                                : rocksdb::DB::Open(options, directory.string(), &opened);
  if (!status.ok()) return tl::unexpected(table_error(status, directory));
  // Another table may take the database over, which uses the environment until it is closed.
  std::shared_ptr<rocksdb::DB> owned(opened, [used = env](rocksdb::DB* last) { delete last; });
  if (!read_only) manifest_length->note();
  return owned;
}

}  // namespace signalbox
