#include "projections/rocks_table.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "projections/manifest_length.h"
#include "store/durable_file.h"
#include "store/little_endian.h"
#include "store/private_env.h"
#include "store/rocks_info_log.h"

namespace signalbox {
namespace {

// Sorts before all keys of read models, which begin with a letter.
constexpr std::string_view state_key("\0state", 6);

rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

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

StoreError error_of(const rocksdb::Status& status, const std::filesystem::path& directory) {
  StoreError error;
  error.file = directory.string();
  error.message = "the read models in " + directory.string() + ": " + status.ToString();
  if (status.IsNoSpace()) {
    error.kind = StoreError::Kind::full;
  } else if (status.IsIOError() && error.message.find("/LOCK: ") != std::string::npos) {
    error.kind = StoreError::Kind::in_use;
  } else if (status.IsIOError() && !status.IsPathNotFound()) {
    error.kind = StoreError::Kind::io;
  } else {
    error.kind = StoreError::Kind::damaged;
  }
  return error;
}

// Free space needed to reopen after a full disk: the contents of the write-ahead log are then
// written to a table.
constexpr std::uint64_t resume_bytes_min = 32 << 20;

// Fails with `full` or `io` unless a database in `directory` could be written at present.
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
  std::atomic<Position> applied = 0;
  rocksdb::WriteBatch batch;  // a member to reuse its buffer

  // Returns the open database; nullptr while it is closed. Readers keep the pointer during a read,
  // so that the database isn't destroyed under them.
  [[nodiscard]] std::shared_ptr<rocksdb::DB> opened() const {
    std::unique_lock lock(mutex);
    replaced.wait(lock, [this] { return !replacing; });
    return database;
  }
  // Closes the database after blocking until no reader uses it; reads are short.
  void close();
  Stored<void> open(bool read_only);

  const std::shared_ptr<rocksdb::Env> env = private_env();

  // Returns the error for a read that failed with `status`, and notes damage.
  StoreError failed_read(const rocksdb::Status& status);
  // Returns the error for a read while the database is closed.
  [[nodiscard]] StoreError closed() const;
  void note_damage(const std::string& what);

  mutable std::mutex mutex;
  mutable std::condition_variable replaced;
  bool replacing = false;  // the rows are being replaced; readers wait
  std::atomic<std::uint64_t> replacements = 0;
  std::shared_ptr<rocksdb::DB> database;
  std::optional<std::string> damage;
  std::optional<StoreError> refusal;  // why it is open for reading only, or closed
};

StoreError RocksTable::State::failed_read(const rocksdb::Status& status) {
  StoreError error = error_of(status, directory);
  if (error.kind != StoreError::Kind::damaged) return error;
  note_damage(error.message);
  error.kind = StoreError::Kind::rebuilding;
  return error;
}

StoreError RocksTable::State::closed() const {
  const std::lock_guard lock(mutex);
  if (damage) return {StoreError::Kind::rebuilding, *damage, directory.string(), 0};
  return {StoreError::Kind::io,
          "the read models in " + directory.string() + " are closed: the disk failed",
          directory.string(), 0};
}

void RocksTable::State::note_damage(const std::string& what) {
  const std::lock_guard lock(mutex);
  if (!damage) damage = what;
}

void RocksTable::State::close() {
  std::weak_ptr<rocksdb::DB> readers;
  {
    const std::lock_guard lock(mutex);
    readers = std::exchange(database, nullptr);
  }
  while (!readers.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Stored<void> RocksTable::State::open(bool read_only) {
  TRY(check_manifest_length(directory));
  rocksdb::DB* opened = nullptr;
  rocksdb::Options options = table_options(directory, *env);
  const auto manifest_length = std::make_shared<ManifestLength>(directory);
  options.listeners.push_back(manifest_length);
  const auto status = read_only ? rocksdb::DB::OpenForReadOnly(options, directory.string(), &opened)
                                : rocksdb::DB::Open(options, directory.string(), &opened);
  if (!status.ok()) return tl::unexpected(error_of(status, directory));
  // Another table may take the database over, which uses the environment until it is closed.
  std::shared_ptr<rocksdb::DB> owned(opened, [used = env](rocksdb::DB* last) { delete last; });
  if (!read_only) manifest_length->note();
  std::string bytes;
  const auto found = owned->Get({}, slice(state_key), &bytes);
  if (!found.ok() && !found.IsNotFound()) return tl::unexpected(error_of(found, directory));
  if (found.ok() && (bytes.size() != encode_state(format, 0).size() ||
                     read_integer<std::uint32_t>(bytes.data()) != format)) {
    return store_failure(StoreError::Kind::unsupported,
                         "the read models in " + directory.string() + " have another format",
                         directory.string());
  }
  const std::lock_guard lock(mutex);
  applied = found.ok() ? read_integer<Position>(bytes.data() + sizeof(std::uint32_t)) : 0;
  database = std::move(owned);
  return {};
}

RocksTable::RocksTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
RocksTable::~RocksTable() = default;

Stored<std::unique_ptr<RocksTable::State>> RocksTable::open(const std::filesystem::path& directory,
                                                            std::uint32_t format) {
  auto state = std::make_unique<State>();
  state->directory = directory;
  state->format = format;
  TRY(state->open(/*read_only=*/false));
  return state;
}

// Erases what is in the directory. What then fails isn't damage: the disk or its permissions are.
Stored<std::unique_ptr<RocksTable::State>> RocksTable::create(
    const std::filesystem::path& directory, std::uint32_t format) {
  std::error_code failure;
  std::filesystem::remove_all(directory, failure);
  (void)make_directories(std::filesystem::absolute(directory));
  auto state = open(directory, format);
  if (!state && state.error().kind != StoreError::Kind::full &&
      state.error().kind != StoreError::Kind::in_use) {
    state.error().kind = StoreError::Kind::io;
  }
  return state;
}

Stored<RocksTable::Opened> RocksTable::open_or_recreate(const std::filesystem::path& directory,
                                                        std::uint32_t format) {
  // If the directory can't be made, open() fails as well.
  (void)make_directories(std::filesystem::absolute(directory));
  auto state = open(directory, format);
  std::string because;
  if (!state) {
    if (state.error().kind == StoreError::Kind::in_use ||
        state.error().kind == StoreError::Kind::full) {
      return tl::unexpected(std::move(state.error()));
    }
    because = state.error().message;
    const bool is_damage = state.error().kind != StoreError::Kind::unsupported;
    state = create(directory, format);
    if (!state) return tl::unexpected(std::move(state.error()));
    if (is_damage) (*state)->damage = because;
  }
  return Opened{std::unique_ptr<RocksTable>(new RocksTable(std::move(*state))), std::move(because)};
}

Stored<std::optional<std::string>> RocksTable::get(std::string_view key) const {
  std::string value;
  const auto database = state_->opened();
  if (!database) return tl::unexpected(state_->closed());
  const auto status = database->Get({}, slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return tl::unexpected(state_->failed_read(status));
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
  const auto database = state_->opened();
  if (!database) return tl::unexpected(state_->closed());
  const std::unique_ptr<rocksdb::Iterator> row(database->NewIterator(options));
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
  if (!row->status().ok()) return tl::unexpected(state_->failed_read(row->status()));
  return {};
}

Stored<void> RocksTable::write(const TableBatch& batch, Position applied) {
  rocksdb::WriteBatch& out = state_->batch;
  out.Clear();
  batch.for_each([&out](std::string_view key, std::optional<std::string_view> value) {
    // Fails only beyond the batch's size limit, and none is set.
    if (value) {
      out.Put(slice(key), slice(*value)).PermitUncheckedError();
    } else {
      out.Delete(slice(key)).PermitUncheckedError();
    }
  });
  out.Put(slice(state_key), encode_state(state_->format, applied)).PermitUncheckedError();
  if (state_->refusal) return tl::unexpected(*state_->refusal);
  rocksdb::Status status;
  {
    const auto database = state_->opened();
    if (!database) return tl::unexpected(state_->closed());
    status = database->Write({}, &out);
  }
  if (!status.ok()) {
    StoreError error = error_of(status, state_->directory);
    if (error.kind != StoreError::Kind::damaged) return reopen_read_only(std::move(error));
    state_->note_damage(error.message);
    return tl::unexpected(std::move(error));
  }
  state_->applied = applied;
  return {};
}

// RocksDB can't continue with a write-ahead log that it failed to write. The database is closed and
// reopened for reading only, which needs no space.
Stored<void> RocksTable::reopen_read_only(StoreError refusal) {
  state_->refusal = refusal;
  state_->close();
  if (auto ok = state_->open(/*read_only=*/true); !ok) refusal.message += "; " + ok.error().message;
  return tl::unexpected(std::move(refusal));
}

Position RocksTable::applied() const { return state_->applied; }

Stored<void> RocksTable::reopen() {
  if (!state_->refusal) return {};
  if (auto ok = check_writable(state_->directory); !ok) return ok;
  state_->close();
  auto again = open_or_recreate(state_->directory, state_->format);
  if (!again) return reopen_read_only(std::move(again.error()));
  State& fresh = *again->table->state_;
  const std::lock_guard lock(state_->mutex);
  state_->database = std::move(fresh.database);
  state_->applied = fresh.applied.load();
  if (!state_->damage) state_->damage = std::move(fresh.damage);
  state_->refusal.reset();
  return {};
}

std::optional<std::string> RocksTable::damage() const {
  const std::lock_guard lock(state_->mutex);
  return state_->damage;
}

void RocksTable::note_damage(const std::string& what) { state_->note_damage(what); }

// The files are read one by one and outside the database, so that it can be closed meanwhile, and
// so that blocks in its cache don't stand in for those on the disk.
void RocksTable::check_files(const std::function<bool()>& go_on) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  const std::uint64_t replacements = state_->replacements;
  if (const auto database = state_->opened()) database->GetLiveFilesMetaData(&files);
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (!go_on()) return;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    rocksdb::Status status = reader.Open((state_->directory / file.relative_filename).string());
    if (status.ok()) status = reader.VerifyChecksum(options);
    if (state_->replacements != replacements) return;  // other files may have the same names
    if (!status.ok() && is_live(file.relative_filename)) {
      static_cast<void>(state_->failed_read(status));
      return;
    }
  }
}

// A compaction may have deleted the file since it was listed, and a rebuild all of them.
bool RocksTable::is_live(const std::string& name) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  if (const auto database = state_->opened()) database->GetLiveFilesMetaData(&files);
  return std::ranges::find(files, name, &rocksdb::LiveFileMetaData::relative_filename) !=
         files.end();
}

Stored<std::unique_ptr<Table>> RocksTable::begin_rebuild() {
  state_->note_damage("a rebuild was asked for");
  state_->close();
  state_->applied = 0;
  state_->refusal.reset();
  auto fresh = TRY(create(state_->directory, state_->format));
  return std::unique_ptr<Table>(new RocksTable(std::move(fresh)));
}

void RocksTable::finish_rebuild(std::unique_ptr<Table> filled) {
  State& fresh = *static_cast<RocksTable&>(*filled).state_;
  const std::lock_guard lock(state_->mutex);
  state_->database = std::move(fresh.database);
  state_->applied = fresh.applied.load();
  state_->refusal = std::move(fresh.refusal);
  state_->damage.reset();
}

void RocksTable::replace(std::unique_ptr<Table> filled) {
  const std::filesystem::path fresh = static_cast<RocksTable&>(*filled).state_->directory;
  const std::filesystem::path old = state_->directory.string() + ".replaced";
  filled.reset();  // closes its database
  const auto set_replacing = [this](bool replacing) {
    const std::lock_guard lock(state_->mutex);
    state_->replacing = replacing;
  };
  ++state_->replacements;
  set_replacing(true);
  state_->close();
  std::error_code failure;
  std::filesystem::remove_all(old, failure);
  std::filesystem::rename(state_->directory, old, failure);
  if (!failure) std::filesystem::rename(fresh, state_->directory, failure);
  state_->refusal.reset();
  Stored<void> opened;
  if (failure) {
    opened = store_failure(StoreError::Kind::io, failure.message());
  } else {
    opened = state_->open(/*read_only=*/false);
  }
  if (!opened) state_->note_damage("they couldn't be replaced: " + opened.error().message);
  set_replacing(false);
  state_->replaced.notify_all();
  std::filesystem::remove_all(old, failure);
}

}  // namespace signalbox
