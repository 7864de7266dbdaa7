#include "store/rocks_event_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "store/anchor.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/file_descriptor.h"
#include "store/head.h"
#include "store/merkle_tree.h"
#include "store/redaction.h"
#include "store/rocks_log_state.h"
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

}  // namespace

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
    return store_failure(StoreError::Kind::not_found, "there is no log in " + data.string(),
                         log_directory(data).string());
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
  if (auto read = read_horizon(); !read) return tl::unexpected(located(std::move(read.error())));
  if (!options.verified || options.verified->position < horizon.position) {
    options.verified.reset();
    if (horizon.position > 0)
      options.verified.emplace(Checkpoint{horizon.position, horizon.frontier});
  }
  auto head = verify_log(*database, options.verified, *anchor, horizon, data);
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
  // Rewriting files needs space; for want of it what was dropped stays there until the next time.
  if (auto finished = finish_drop(); !finished && finished.error().kind != StoreError::Kind::full) {
    return finished;
  }
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
    auto taken = DirectoryLock::take(lock_file(data), options.command);
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
  if (state_->database == nullptr) return tl::unexpected(state_->unreadable());
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
