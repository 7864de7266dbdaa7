#include "store/rocks_event_log.h"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "store/anchor.h"
#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/merkle_tree.h"
#include "store/rocks_log_state.h"
#include "store/table_properties.h"
#include "store/unnamed_tables.h"
#include "store/wal_file.h"

namespace signalbox {
namespace {

// A reader of a running server's log can meet files that vanish between being listed and being
// opened.
constexpr int read_only_attempts_max = 20;

// Removes what was derived from the log, and may have been before a payload was replaced. The marks
// of the erasure are in the log until this is durable.
Stored<void> remove_projections(const std::filesystem::path& data) {
  const std::filesystem::path projections = data / "projections";
  std::error_code failed;
  std::filesystem::remove_all(projections, failed);
  if (failed) {
    errno = failed.value();
    return tl::unexpected(system_error("remove", projections));
  }
  return sync_directory(data);
}

}  // namespace

Stored<void> RocksEventLog::State::open_database(RocksDatabase::Mode mode, Position read_from) {
  const std::size_t buffer_bytes =
      options.buffer_bytes == 0 ? RocksDatabase::buffer_bytes_default : options.buffer_bytes;
  TRY(check_table_properties(log_directory(data)));
  if (mode != RocksDatabase::Mode::read_only) {
    TRY(check_unnamed_tables(log_directory(data), options.env, buffer_bytes, wal_sequence,
                             read_from));
  }
  auto opened = TRY(RocksDatabase::open(log_directory(data), mode, options.env, buffer_bytes));
  database = std::move(opened);
  return {};
}

Stored<void> RocksEventLog::State::recover() {
  // The anchor is read before the database: a log that is opened later can only be longer.
  const auto anchor = TRY(read_anchor(anchor_file(data)));
  const bool create = TRY(may_create(data, anchor));
  if (create && options.read_only) {
    return store_failure(StoreError::Kind::not_found, "there is no log in " + data.string(),
                         log_directory(data).string());
  }
  if (!create && !believes_head()) {
    const auto torn = TRY(inspect_wal_files(log_directory(data)));
    report.torn_bytes = torn.bytes;
    if (!options.read_only) {
      wal_sequence = torn.first_sequence;
      if (auto whole = check_tail(data, anchor, torn, options.env); !whole) {
        return tl::unexpected(located(std::move(whole.error())));
      }
      TRY(cut_torn_tail(torn));
    }
  }
  // Without an anchor no opening was ever completed, so a creation that a crash interrupted is
  // completed now.
  const bool finished = anchor.has_value();
  if (!finished && !options.read_only) {
    TRY(sync_parent_directories(data));
  }
  // What is read below is read before anything is written: a damaged log stays as it is.
  auto opened = open_database(options.read_only ? RocksDatabase::Mode::read_only
                              : finished        ? RocksDatabase::Mode::read_write
                                                : RocksDatabase::Mode::create,
                              options.verified ? options.verified->position + 1 : 1);
  if (!opened) return tl::unexpected(located(std::move(opened.error())));
  if (auto read = read_horizon(); !read) return tl::unexpected(located(std::move(read.error())));
  if (!options.verified || options.verified->position < horizon.position) {
    options.verified.reset();
    if (horizon.position > 0)
      options.verified.emplace(Checkpoint{horizon.position, horizon.frontier});
  }
  if (believes_head()) {
    const auto believed = database->head();
    if (!believed) return tl::unexpected(located(believed.error()));
    options.verified.emplace(Checkpoint{believed->leaves, *believed});
  }
  auto head = verify_log(*database, options.verified, anchor, horizon, redactions.awaited, data);
  if (!head) return tl::unexpected(located(std::move(head.error())));

  frontier = std::move(*head);
  tail = frontier.leaves;
  last_sequence = database->last_sequence();
  report.tail = tail;
  report.anchor = anchor ? anchor->position : 0;
  report.records_verified = tail - (options.verified ? options.verified->position : 0);
  anchored = report.anchor;
  return {};
}

// A crash, or the end of a service, may have interrupted the erasure of what a redaction replaced.
Stored<bool> RocksEventLog::State::finish_erasure() {
  const auto erasing = TRY(database->erasing());
  if (erasing.empty()) return false;
  TRY(remove_projections(data));
  // What a drop left that was given up, or made, may have the text.
  TRY(note_finished(TRY(stray_bases()), /*is_purged=*/false));
  TRY(erase_replaced());
  return true;
}

// Without the lock: only the appending thread, on which this runs, closes and reopens the database.
Stored<bool> RocksEventLog::finish_erasure() {
  const bool is_readable = state_->database != nullptr;
  if (is_readable && TRY(state_->database->erasing()).empty()) return false;
  TRY(state_->require_writable());
  return state_->finish_erasure();
}

Stored<void> RocksEventLog::State::settle() {
  report.erased_replaced = TRY(finish_erasure());
  // Recovery wrote the write-ahead logs to tables and removed them. Their removal must be durable
  // before later batches are written: a power loss could bring back a log that was read from memory
  // only, after a sync that failed.
  TRY(sync_directory(log_directory(data)));
  // Rewriting files needs space. On a full disk the dropped records stay in the files until the
  // next opening.
  if (auto finished = finish_drop(); !finished && finished.error().kind != StoreError::Kind::full) {
    return finished;
  }
  TRY(anchor_tail());
  synced = tail.load();
  // The first append is noted at once: what it adds is in the new write-ahead log only, and nothing
  // else would tell that the whole file is gone.
  anchored_at = {};
  return {};
}

Stored<void> RocksEventLog::State::anchor_tail() {
  auto written = write_anchor(anchor_file(data), {tail, merkle_root(frontier, sha256)});
  // If the write failed, the old anchor is still there and still true; the next interval tries
  // again.
  anchored_at = std::chrono::steady_clock::now();
  if (written) anchored = tail;
  return written;
}

Stored<std::unique_ptr<RocksEventLog>> RocksEventLog::open(const std::filesystem::path& data,
                                                           Options options) {
  const bool read_only = options.read_only;
  if (!options.random) options.random = secure_random();
  DirectoryLock lock;
  if (!read_only) {
    TRY(make_directories(std::filesystem::absolute(log_directory(data))));
    auto taken = TRY(DirectoryLock::take(lock_file(data), options.command, options.lock_wait));
    lock = std::move(taken);
  }
  for (int attempt = 1;; ++attempt) {
    auto state = std::make_unique<State>();
    state->data = data;
    state->options = options;
    const auto names = log_files(data);
    if (auto recovered = state->recover(); !recovered) {
      const bool files_changed = read_only && names != log_files(data);
      if (files_changed && attempt < read_only_attempts_max) continue;
      return tl::unexpected(recovered.error());
    }
    state->lock = std::move(lock);
    if (read_only) {
      state->writing = State::Writing::never;
    } else {
      TRY(state->settle());
    }
    return std::unique_ptr<RocksEventLog>(new RocksEventLog(std::move(state)));
  }
}

RocksEventLog::RocksEventLog(std::unique_ptr<State> state) : state_(std::move(state)) {}
RocksEventLog::~RocksEventLog() { static_cast<void>(close()); }

const OpenReport& RocksEventLog::report() const { return state_->report; }
Position RocksEventLog::tail() const { return state_->tail; }
MerkleFrontier RocksEventLog::frontier() const { return state_->frontier; }

Stored<void> RocksEventLog::close() {
  State& state = *state_;
  if (state.writing == State::Writing::never || state.closed) return {};
  state.closed = true;
  // Before the lock: a sync that finds no space takes it. What couldn't be synced once isn't
  // anchored, whatever a later sync says.
  Stored<void> anchored;
  if (state.unsynced) anchored = sync();
  const State::Exclusive exclusive(state);
  if (anchored && state.anchored != state.tail) anchored = state.anchor_tail();
  state.database.reset();
  state.lock = DirectoryLock();
  return anchored;
}

}  // namespace signalbox
