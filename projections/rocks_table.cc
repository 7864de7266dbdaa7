#include "projections/rocks_table.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
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
#include "projections/table_database.h"
#include "store/durable_file.h"
#include "store/little_endian.h"
#include "store/rocks_environment.h"

namespace signalbox {
namespace {

// Sorts before all keys of read models, which begin with a letter.
constexpr std::string_view state_key("\0state", 6);

rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Returns where the former rows are while others take their place.
std::filesystem::path replaced_path(const std::filesystem::path& directory) {
  return directory.string() + ".replaced";
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

  struct OpenDatabase {
    std::shared_ptr<rocksdb::DB> database;
    Position applied = 0;
  };

  // Returns the open database; nullptr while it is closed. Readers keep the pointer during a read,
  // so that the database isn't destroyed under them. Never blocks for long.
  [[nodiscard]] std::shared_ptr<rocksdb::DB> opened() const {
    const std::lock_guard lock(mutex);
    return database;
  }
  // Opens the database in `place` for exchange().
  [[nodiscard]] Stored<OpenDatabase> open_at(const std::filesystem::path& place,
                                             TableMode mode) const;
  // Gives `next` to the readers that come, and closes the former database after blocking until no
  // reader uses it; reads are short.
  void exchange(OpenDatabase next);
  void close() { exchange({nullptr, applied.load()}); }
  Stored<void> open(TableMode mode);
  // Moves the rows in `fresh` to the directory, and the former ones to `old`. At every moment there
  // is a database to read.
  Stored<void> take_over(const std::filesystem::path& fresh, const std::filesystem::path& old);

  const std::shared_ptr<rocksdb::Env> env = private_env();

  // Returns the error for a read that failed with `status`, and notes damage.
  StoreError failed_read(const rocksdb::Status& status);
  // Returns the error for a read while the database is closed.
  [[nodiscard]] StoreError closed() const;
  void note_damage(const std::string& what);

  mutable std::mutex mutex;
  mutable std::condition_variable replaced;
  bool replacing = false;  // the rows are being replaced, and their files moved
  std::atomic<std::uint64_t> replacements = 0;
  std::shared_ptr<rocksdb::DB> database;
  std::optional<std::string> damage;
  std::optional<StoreError> refusal;  // why it is open for reading only, or closed
};

StoreError RocksTable::State::failed_read(const rocksdb::Status& status) {
  StoreError error = table_error(status, directory);
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

void RocksTable::State::exchange(OpenDatabase next) {
  std::shared_ptr<rocksdb::DB> former;
  {
    const std::lock_guard lock(mutex);
    former = std::exchange(database, std::move(next.database));
    applied = next.applied;
  }
  // It is closed here, and not on the thread of its last reader.
  while (former.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Stored<RocksTable::State::OpenDatabase> RocksTable::State::open_at(
    const std::filesystem::path& place, TableMode mode) const {
  auto owned = TRY(open_table_database(place, env, mode));
  std::string bytes;
  const auto found = owned->Get({}, slice(state_key), &bytes);
  if (!found.ok() && !found.IsNotFound()) return tl::unexpected(table_error(found, place));
  if (found.ok() && (bytes.size() != encode_state(format, 0).size() ||
                     read_integer<std::uint32_t>(bytes.data()) != format)) {
    return store_failure(StoreError::Kind::unsupported,
                         "the read models in " + place.string() + " have another format",
                         place.string());
  }
  const Position reached =
      found.ok() ? read_integer<Position>(bytes.data() + sizeof(std::uint32_t)) : 0;
  return OpenDatabase{std::move(owned), reached};
}

Stored<void> RocksTable::State::open(TableMode mode) {
  auto next = TRY(open_at(directory, mode));
  exchange(std::move(next));
  return {};
}

Stored<void> RocksTable::State::take_over(const std::filesystem::path& fresh,
                                          const std::filesystem::path& old) {
  auto readable = TRY(open_at(fresh, TableMode::movable));
  exchange(std::move(readable));
  std::error_code failure;
  std::filesystem::remove_all(old, failure);
  std::filesystem::rename(directory, old, failure);
  if (!failure) std::filesystem::rename(fresh, directory, failure);
  if (failure) return store_failure(StoreError::Kind::io, failure.message());
  refusal.reset();
  return open(TableMode::read_write);
}

RocksTable::RocksTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
RocksTable::~RocksTable() = default;

Stored<std::unique_ptr<RocksTable::State>> RocksTable::open(const std::filesystem::path& directory,
                                                            std::uint32_t format) {
  auto state = std::make_unique<State>();
  state->directory = directory;
  state->format = format;
  TRY(state->open(TableMode::read_write));
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
  // A process that ended while it replaced the rows has left the former ones.
  std::error_code ignored;
  std::filesystem::remove_all(replaced_path(directory), ignored);
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
    StoreError error = table_error(status, state_->directory);
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
  if (auto ok = state_->open(TableMode::read_only); !ok)
    refusal.message += "; " + ok.error().message;
  return tl::unexpected(std::move(refusal));
}

Position RocksTable::applied() const { return state_->applied; }

Stored<void> RocksTable::reopen() {
  if (!state_->refusal) return {};
  TRY(check_writable(state_->directory));
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
  std::uint64_t replacements = 0;
  {
    std::unique_lock lock(state_->mutex);
    state_->replaced.wait(lock, [this] { return !state_->replacing; });
    replacements = state_->replacements;
  }
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
  const std::filesystem::path old = replaced_path(state_->directory);
  filled.reset();  // closes its database
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->replacements;
    state_->replacing = true;
  }
  if (const auto taken = state_->take_over(fresh, old); !taken) {
    state_->note_damage("they couldn't be replaced: " + taken.error().message);
    state_->close();
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->replacing = false;
  }
  state_->replaced.notify_all();
  std::error_code ignored;
  std::filesystem::remove_all(old, ignored);
}

}  // namespace signalbox
