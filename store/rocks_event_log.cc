#include "store/rocks_event_log.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "store/anchor.h"
#include "store/batch_encoder.h"
#include "store/directory_lock.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/file_descriptor.h"
#include "store/head.h"
#include "store/log_opening.h"
#include "store/merkle_tree.h"
#include "store/rocks_database.h"
#include "store/wal_file.h"

namespace signalbox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto anchor_interval = std::chrono::seconds(1);
// Trying to write again keeps readers waiting; each try in vain doubles the pause before the next.
constexpr Clock::duration full_pause_max = std::chrono::seconds(30);
// With less than this it is in vain for sure.
constexpr std::uintmax_t resume_bytes_min = 16 * 1024 * 1024;
// A reader of a running server's log can meet files that vanish between being named and being
// opened.
constexpr int read_only_attempts_max = 20;

std::vector<std::filesystem::path> names_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> names;
  std::error_code ignored;  // no directory, no names
  for (const auto& file : std::filesystem::directory_iterator(directory, ignored)) {
    names.push_back(file.path());
  }
  std::ranges::sort(names);
  return names;
}

StoreError unreadable(const std::filesystem::path& data) {
  StoreError error;
  error.kind = StoreError::Kind::io;
  error.message = "the log in " + data.string() + " is closed: it couldn't be opened again";
  error.file = log_directory(data).string();
  return error;
}

}  // namespace

struct RocksEventLog::State {
  enum class Writing { possible, full, unknown, never };

  std::filesystem::path data;
  Options options;
  DirectoryLock lock;
  OpenReport report;

  // Shared by readers for as long as they use the database; held alone to close and re-open it.
  mutable std::shared_mutex mutex;
  std::unique_ptr<RocksDatabase> database;  // null only if it couldn't be opened again

  std::atomic<Position> tail = 0;

  // The rest belongs to the appending thread.
  MerkleFrontier frontier;
  Sha256 sha256;
  BatchEncoder encoder;
  Writing writing = Writing::possible;
  std::string failure;              // why writing isn't possible
  std::uint64_t last_sequence = 0;  // of the last append that succeeded
  Clock::time_point full_tried_at{};
  Clock::duration full_pause{};
  Position anchored = 0;
  Clock::time_point anchored_at{};
  bool closed = false;

  AppendResult refuse(AppendStatus status) const { return {status, tail, failure}; }
  [[nodiscard]] StoreError located(StoreError error) const;
  Stored<void> open_database(RocksDatabase::Mode mode);
  Stored<void> recover();
  Stored<void> settle();
  Stored<void> anchor_tail();
  std::optional<AppendResult> refused();
  AppendResult write(std::span<const Commit> commits, const RocksDatabase::Entry* replaced);
  AppendResult wrote(MerkleFrontier next);
  AppendResult failed(const StoreError& error);
  bool writable_again();
};

// Errors from within an entry don't know where the entry lies.
StoreError RocksEventLog::State::located(StoreError error) const {
  if (error.file.empty()) {
    error.file = log_directory(data).string();
    error.message = "the log in " + error.file + ", record " + std::to_string(error.position) +
                    ": " + error.message;
  }
  return error;
}

Stored<void> RocksEventLog::State::open_database(RocksDatabase::Mode mode) {
  auto opened =
      options.buffer_bytes == 0
          ? RocksDatabase::open(log_directory(data), mode, options.env)
          : RocksDatabase::open(log_directory(data), mode, options.env, options.buffer_bytes);
  if (!opened) return tl::unexpected(opened.error());
  database = std::move(*opened);
  return {};
}

Stored<void> RocksEventLog::State::recover() {
  // Read before the database: the log that is opened then can only be longer.
  const auto anchor = read_anchor(anchor_file(data));
  if (!anchor) return tl::unexpected(anchor.error());
  const auto create = may_create(data, *anchor);
  if (!create) return tl::unexpected(create.error());
  if (*create && options.read_only) {
    StoreError error;
    error.kind = StoreError::Kind::not_found;
    error.message = "there is no log in " + data.string();
    error.file = log_directory(data).string();
    return tl::unexpected(std::move(error));
  }
  if (!*create) {
    const auto torn = inspect_wal_files(log_directory(data));
    if (!torn) return tl::unexpected(torn.error());
    report.torn_bytes = torn->bytes;
    if (!options.read_only) {
      if (auto cut = cut_torn_tail(log_directory(data), *torn); !cut) return cut;
    }
  }
  // Without an anchor no opening came to its end yet: a creation that a crash cut short is
  // finished.
  const bool finished = anchor->has_value();
  if (!finished && !options.read_only) {
    if (auto synced = sync_way_to(data); !synced) return synced;
  }
  auto opened = open_database(options.read_only ? RocksDatabase::Mode::read_only
                              : finished        ? RocksDatabase::Mode::read_write
                                                : RocksDatabase::Mode::create);
  if (!opened) return opened;
  auto head = verify_log(*database, options.verified, *anchor, data);
  if (!head) return tl::unexpected(located(std::move(head.error())));

  frontier = std::move(*head);
  tail = frontier.leaves;
  last_sequence = database->last_sequence();
  report.tail = tail;
  report.anchor = *anchor ? (*anchor)->position : 0;
  report.records_verified = tail - (options.verified ? options.verified->position : 0);
  anchored = report.anchor;
  return {};
}

Stored<void> RocksEventLog::State::settle() {
  // A crash may have left what a redaction replaced in files that it didn't come to remove.
  if (auto erased = database->erase_replaced(); !erased) return erased;
  // Write-ahead logs that recovery put into tables are removed. Should a power loss bring one back,
  // then before there are later batches: it may have been read from memory only, after a sync that
  // failed.
  if (auto removed = sync_directory(log_directory(data)); !removed) return removed;
  return anchor_tail();
}

Stored<void> RocksEventLog::State::anchor_tail() {
  auto written = write_anchor(anchor_file(data), {tail, merkle_root(frontier, sha256)});
  // If it couldn't be written the old one still stands, and is still true. Next time, then.
  anchored_at = Clock::now();
  if (written) anchored = tail;
  return written;
}

Stored<std::unique_ptr<RocksEventLog>> RocksEventLog::open(const std::filesystem::path& data,
                                                           Options options) {
  const bool read_only = options.read_only;
  if (!options.random) options.random = secure_random();
  DirectoryLock lock;
  if (!read_only) {
    std::error_code failed;
    std::filesystem::create_directories(log_directory(data), failed);
    if (failed) {
      errno = failed.value();
      return tl::unexpected(system_error("create", log_directory(data)));
    }
    auto taken = DirectoryLock::take(lock_file(data));
    if (!taken) return tl::unexpected(taken.error());
    lock = std::move(*taken);
  }
  for (int attempt = 1;; ++attempt) {
    auto state = std::make_unique<State>();
    state->data = data;
    state->options = options;
    const auto names = names_in(log_directory(data));
    if (auto recovered = state->recover(); !recovered) {
      const bool moving = read_only && names != names_in(log_directory(data));
      if (moving && attempt < read_only_attempts_max) continue;
      return tl::unexpected(recovered.error());
    }
    state->lock = std::move(lock);
    if (read_only) {
      state->writing = State::Writing::never;
    } else if (auto settled = state->settle(); !settled) {
      return tl::unexpected(settled.error());
    }
    return std::unique_ptr<RocksEventLog>(new RocksEventLog(std::move(state)));
  }
}

RocksEventLog::RocksEventLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
RocksEventLog::~RocksEventLog() { static_cast<void>(close()); }

const OpenReport& RocksEventLog::report() const { return state_->report; }
Position RocksEventLog::tail() const { return state_->tail; }
MerkleFrontier RocksEventLog::frontier() const { return state_->frontier; }

AppendResult RocksEventLog::append(Position expected_tail, std::span<const Commit> commits) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing != State::Writing::never);
  if (expected_tail != state.tail) return {AppendStatus::conflict, state.tail, {}};
  check_numbering(expected_tail, commits);
  if (commits.empty()) return {AppendStatus::ok, state.tail, {}};
  if (auto refused = state.refused()) return *std::move(refused);
  return state.write(commits, nullptr);
}

std::optional<AppendResult> RocksEventLog::State::refused() {
  if (writing == Writing::unknown) return refuse(AppendStatus::unknown);
  if (writing == Writing::full && !writable_again()) {
    return refuse(writing == Writing::full ? AppendStatus::full : AppendStatus::unknown);
  }
  return std::nullopt;
}

AppendResult RocksEventLog::State::write(std::span<const Commit> commits,
                                         const RocksDatabase::Entry* replaced) {
  MerkleFrontier next = frontier;
  encoder.begin(commits, options.random);
  rocksdb::WriteBatch batch = RocksDatabase::batch(encoder.bytes());
  for (std::size_t index = 0; index < commits.size(); ++index) {
    database->put_entry(batch, commits[index].front().position, encoder.entry(index));
  }
  encoder.end(sha256, next);
  std::string head;
  encode_head(next, head);
  database->put_head(batch, head);
  if (replaced != nullptr) {
    database->put_entry(batch, replaced->first, replaced->bytes);
    database->put_erasing(batch, replaced->first);
  }

  const rocksdb::Status status = database->write(batch);
  if (!status.ok()) return failed(database->error(status));
  return wrote(std::move(next));
}

Stored<AppendResult> RocksEventLog::redact(Position expected_tail, const Redaction& redaction) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing != State::Writing::never);
  if (expected_tail != state.tail) return AppendResult{AppendStatus::conflict, state.tail, {}};
  Commit commit{redaction.note};
  check_numbering(expected_tail, {&commit, 1});
  if (auto refused = state.refused()) return *std::move(refused);
  if (redaction.position == 0 || redaction.position > state.tail) {
    return tl::unexpected(no_such_position(redaction.position, state.tail));
  }
  auto entry = state.database->entry_of(redaction.position);
  if (!entry) return tl::unexpected(state.located(entry.error()));
  Salt salt;
  state.options.random(salt);
  auto redacted =
      redact_entry(entry->bytes, entry->first, redaction.position, redaction.replacement, salt);
  if (!redacted) return tl::unexpected(state.located(redacted.error()));
  entry->bytes = std::move(redacted->bytes);
  set_digests(commit.front(), *redacted);
  return state.write({&commit, 1}, &*entry);
}

Stored<void> RocksEventLog::erase_replaced() {
  SIGNALBOX_CHECK(state_->writing != State::Writing::never);
  const std::shared_lock reading(state_->mutex);
  if (state_->database == nullptr) return tl::unexpected(unreadable(state_->data));
  return state_->database->erase_replaced();
}

AppendResult RocksEventLog::State::wrote(MerkleFrontier next) {
  frontier = std::move(next);
  last_sequence = database->last_sequence();
  tail = frontier.leaves;
  // The records are durable whether or not the anchor, which only watches over them, is.
  if (Clock::now() - anchored_at >= anchor_interval) static_cast<void>(anchor_tail());
  return {AppendStatus::ok, tail, {}};
}

AppendResult RocksEventLog::State::failed(const StoreError& error) {
  failure = error.message;
  if (error.kind != StoreError::Kind::full) {
    writing = State::Writing::unknown;
    return refuse(AppendStatus::unknown);
  }
  // RocksDB can't go on with a write-ahead log that it couldn't write. Close it, take off what the
  // write left, so that it can't surface later, and read on without writing: that needs no space.
  const std::unique_lock alone(mutex);
  database.reset();
  writing = State::Writing::full;
  full_tried_at = Clock::now();
  full_pause = options.full_pause;
  if (auto cut = cut_wal_files_after(log_directory(data), last_sequence); !cut) {
    failure += "; " + cut.error().message;
    writing = State::Writing::unknown;
  }
  if (auto opened = open_database(RocksDatabase::Mode::read_only); !opened) {
    failure += "; " + opened.error().message;
  }
  return refuse(writing == State::Writing::full ? AppendStatus::full : AppendStatus::unknown);
}

bool RocksEventLog::State::writable_again() {
  if (Clock::now() - full_tried_at < full_pause) return false;
  full_tried_at = Clock::now();
  std::error_code unknown;  // then available is the greatest number there is: try
  if (std::filesystem::space(data, unknown).available < resume_bytes_min) return false;
  const std::unique_lock alone(mutex);
  database.reset();
  auto opened = open_database(RocksDatabase::Mode::resume);
  if (opened) {
    const auto head = database->head();
    if (head && *head == frontier) {
      last_sequence = database->last_sequence();
      writing = State::Writing::possible;
      return true;
    }
    failure = head ? "the log isn't the same after it was opened again" : head.error().message;
    writing = State::Writing::unknown;
    return false;
  }
  failure = opened.error().message;
  full_pause = std::min(2 * full_pause, full_pause_max);
  if (auto reopened = open_database(RocksDatabase::Mode::read_only); !reopened) {
    failure += "; " + reopened.error().message;
  }
  return false;
}

Stored<Position> RocksEventLog::scan(Position from, Position to, const Visit& visit) const {
  const State& state = *state_;
  from = std::max<Position>(from, 1);
  to = std::min<Position>(to, state.tail);
  if (from > to) return from - 1;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(unreadable(state.data));
  Record record;
  const auto next =
      walk_entries(*state.database, from, to, [&](std::string_view entry, Position first) {
        return scan_entry(entry, first, from, to, record, visit);
      });
  if (!next) return tl::unexpected(state.located(next.error()));
  return *next - 1;
}

Stored<Position> RocksEventLog::scan_frames(Position from, Position to,
                                            const VisitFrame& visit) const {
  const State& state = *state_;
  from = std::max<Position>(from, 1);
  to = std::min<Position>(to, state.tail);
  if (from > to) return from - 1;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(unreadable(state.data));
  bool wanted = true;
  const auto next =
      walk_entries(*state.database, from, to, [&](std::string_view entry, Position first) {
        auto end = for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
          if (frame.position < from) return true;
          if (frame.position > to || !wanted) return false;
          wanted = visit(frame);
          return true;
        });
        if (end && !wanted) end->stopped = true;
        return end;
      });
  if (!next) return tl::unexpected(state.located(next.error()));
  return *next - 1;
}

Stored<Commit> RocksEventLog::read_commit(Position position) const {
  const State& state = *state_;
  if (position == 0 || position > state.tail) {
    return tl::unexpected(no_such_position(position, state.tail));
  }
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(unreadable(state.data));
  const auto entry = state.database->entry_of(position);
  if (!entry) return tl::unexpected(state.located(entry.error()));
  auto commit = decode_entry(entry->bytes, entry->first);
  if (!commit) return tl::unexpected(state.located(commit.error()));
  if (commit->back().position < position) {
    return tl::unexpected(state.located(damaged_at(position, "it is missing")));
  }
  return commit;
}

Stored<MerkleFrontier> RocksEventLog::verify(Position through) const {
  const State& state = *state_;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(unreadable(state.data));
  if (auto files = state.database->verify_files(); !files) return tl::unexpected(files.error());
  const auto head = state.database->head();
  if (!head) return head;
  through = std::min(through, head->leaves);

  Sha256 sha256;
  MerkleFrontier frontier;
  RedactionLedger redactions;
  const auto walked =
      walk_entries(*state.database, 1, through, [&](std::string_view entry, Position first) {
        return append_leaves(entry, first, 1, through, sha256, frontier, redactions);
      });
  if (!walked) return tl::unexpected(state.located(walked.error()));
  if (frontier.leaves != through || (through == head->leaves && frontier != *head)) {
    return tl::unexpected(state.located(
        damaged_at(frontier.leaves, "the Merkle tree over the log isn't that of its head")));
  }
  // Events of later redactions can be about records up to `through`: those fit only together.
  if (auto fits = check_redactions(*state.database, redactions, 1, through + 1); !fits) {
    return tl::unexpected(state.located(fits.error()));
  }
  return frontier;
}

Stored<void> RocksEventLog::close() {
  State& state = *state_;
  const std::unique_lock alone(state.mutex);
  if (state.writing == State::Writing::never || state.closed) return {};
  state.closed = true;
  auto anchored = state.anchored == state.tail ? Stored<void>() : state.anchor_tail();
  state.database.reset();
  state.lock = DirectoryLock();
  return anchored;
}

}  // namespace signalbox
