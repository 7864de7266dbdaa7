#include "projections/rocks_table.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <system_error>
#include <utility>

#include "store/little_endian.h"
#include "store/rocks_info_log.h"

namespace signalbox {
namespace {

// Before all keys of read models, which begin with a letter.
constexpr std::string_view state_key("\0state", 6);

rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

rocksdb::Options table_options(const std::filesystem::path& directory) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  blocks.block_cache = rocksdb::NewLRUCache(32 << 20);
  // Indexes and filters of old runs make room like any other block: memory doesn't follow history.
  blocks.cache_index_and_filter_blocks = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;

  rocksdb::Options options;
  options.create_if_missing = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  options.write_buffer_size = 16 << 20;
  options.max_write_buffer_number = 3;
  options.max_total_wal_size = 64 << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  // Keys of one kind come in nearly ascending order, and one thread writes: the memtable finds the
  // place of an insert from the last one of the kind (a letter and a byte that may tell it
  // further).
  options.allow_concurrent_memtable_write = false;
  options.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(2));
  // Index entries of passing states are erased soon: without this, a scan of "running" walks over
  // the tombstones of all that ran.
  options.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(4096, 2048));
  // RocksDB's own aborts the process at its second warning on a full disk.
  options.info_log = rocks_info_log(directory);
  return options;
}

StoreError error_of(const rocksdb::Status& status, const std::filesystem::path& directory) {
  StoreError error;
  error.file = directory.string();
  error.message = "the read models in " + directory.string() + ": " + status.ToString();
  if (status.IsNoSpace()) {
    error.kind = StoreError::Kind::full;
  } else if (status.IsIOError() && error.message.find("lock") != std::string::npos) {
    error.kind = StoreError::Kind::in_use;
  } else if (status.IsIOError() && !status.IsPathNotFound()) {
    error.kind = StoreError::Kind::io;
  } else {
    error.kind = StoreError::Kind::damaged;
  }
  return error;
}

std::string encode_state(std::uint32_t format, Position applied) {
  std::string bytes;
  append_integer(bytes, format);
  append_integer(bytes, applied);
  return bytes;
}

}  // namespace

struct RocksTable::State {
  std::filesystem::path directory;
  std::uint32_t format = 0;
  std::unique_ptr<rocksdb::DB> database;
  std::atomic<Position> applied = 0;
  rocksdb::WriteBatch batch;  // keeps its buffer
};

RocksTable::RocksTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
RocksTable::~RocksTable() = default;

Stored<std::unique_ptr<RocksTable::State>> RocksTable::open(const std::filesystem::path& directory,
                                                            std::uint32_t format) {
  auto state = std::make_unique<State>();
  state->directory = directory;
  state->format = format;
  rocksdb::DB* database = nullptr;
  if (auto status = rocksdb::DB::Open(table_options(directory), directory.string(), &database);
      !status.ok()) {
    return tl::unexpected(error_of(status, directory));
  }
  state->database.reset(database);
  std::string bytes;
  const auto status = database->Get({}, slice(state_key), &bytes);
  if (status.IsNotFound()) return state;
  if (!status.ok()) return tl::unexpected(error_of(status, directory));
  if (bytes.size() != encode_state(format, 0).size() ||
      read_integer<std::uint32_t>(bytes.data()) != format) {
    StoreError error;
    error.kind = StoreError::Kind::unsupported;
    error.file = directory.string();
    error.message = "the read models in " + directory.string() + " have another format";
    return tl::unexpected(std::move(error));
  }
  state->applied = read_integer<Position>(bytes.data() + sizeof(std::uint32_t));
  return state;
}

Stored<RocksTable::Opened> RocksTable::open_or_recreate(const std::filesystem::path& directory,
                                                        std::uint32_t format) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  auto state = open(directory, format);
  std::string because;
  if (!state) {
    if (state.error().kind == StoreError::Kind::in_use ||
        state.error().kind == StoreError::Kind::full) {
      return tl::unexpected(std::move(state.error()));
    }
    because = state.error().message;
    std::filesystem::remove_all(directory, failure);
    std::filesystem::create_directories(directory, failure);
    state = open(directory, format);
    if (!state) return tl::unexpected(std::move(state.error()));
  }
  return Opened{std::unique_ptr<RocksTable>(new RocksTable(std::move(*state))), std::move(because)};
}

Stored<std::optional<std::string>> RocksTable::get(std::string_view key) const {
  std::string value;
  const auto status = state_->database->Get({}, slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return tl::unexpected(error_of(status, state_->directory));
  return value;
}

Stored<void> RocksTable::scan(std::string_view prefix, std::string_view from, ScanOrder order,
                              const Visit& visit) const {
  const std::optional<std::string> end = after_prefix(prefix);
  const rocksdb::Slice lower = slice(prefix);
  const rocksdb::Slice upper = end ? slice(*end) : rocksdb::Slice();
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower;
  if (end) options.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> row(state_->database->NewIterator(options));
  if (order == ScanOrder::ascending) {
    row->Seek(slice(from));
  } else {
    row->SeekForPrev(slice(from));
  }
  while (row->Valid() && visit(view(row->key()), view(row->value()))) {
    if (order == ScanOrder::ascending) {
      row->Next();
    } else {
      row->Prev();
    }
  }
  if (!row->status().ok()) return tl::unexpected(error_of(row->status(), state_->directory));
  return {};
}

Stored<void> RocksTable::write(const TableBatch& batch, Position applied) {
  rocksdb::WriteBatch& out = state_->batch;
  out.Clear();
  batch.for_each([&out](std::string_view key, std::optional<std::string_view> value) {
    // Fails only past the batch's size limit, and none is set.
    if (value) {
      out.Put(slice(key), slice(*value)).PermitUncheckedError();
    } else {
      out.Delete(slice(key)).PermitUncheckedError();
    }
  });
  out.Put(slice(state_key), encode_state(state_->format, applied)).PermitUncheckedError();
  if (auto status = state_->database->Write({}, &out); !status.ok()) {
    return tl::unexpected(error_of(status, state_->directory));
  }
  state_->applied = applied;
  return {};
}

Position RocksTable::applied() const { return state_->applied; }

}  // namespace signalbox
