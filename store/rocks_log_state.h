// What a RocksEventLog is made of: what appending (rocks_event_log), reading (rocks_log_reading)
// and dropping (rocks_log_drop) share.
//
// Internal: only those sources include it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>

#include "store/batch_encoder.h"
#include "store/directory_lock.h"
#include "store/log_opening.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"

namespace signalbox {

struct RocksEventLog::State {
  enum class Writing { possible, full, unknown, never };

  std::filesystem::path data;
  Options options;
  DirectoryLock lock;
  OpenReport report;

  // Shared by readers for as long as they use the database; held alone to close and re-open it.
  mutable std::shared_mutex mutex;
  std::unique_ptr<RocksDatabase> database;  // null only if it couldn't be opened again
  Horizon horizon;                          // changed with it held alone

  std::atomic<Position> tail = 0;

  // The rest belongs to the appending thread.
  MerkleFrontier frontier;
  Sha256 sha256;
  BatchEncoder encoder;
  Writing writing = Writing::possible;
  std::string failure;              // why writing isn't possible
  std::uint64_t last_sequence = 0;  // of the last append that succeeded
  std::chrono::steady_clock::time_point full_tried_at{};
  std::chrono::steady_clock::duration full_pause{};
  Position anchored = 0;
  std::chrono::steady_clock::time_point anchored_at{};
  bool closed = false;

  AppendResult refuse(AppendStatus status) const { return {status, tail, failure}; }
  [[nodiscard]] StoreError located(StoreError error) const;
  [[nodiscard]] StoreError unreadable() const;
  using WalkEntry = std::function<Stored<EntryEnd>(std::string_view entry, Position first,
                                                   Position from, Position to)>;
  Stored<Position> walk(Position from, Position to, const bool& wanted,
                        const WalkEntry& visit) const;
  Stored<void> open_database(RocksDatabase::Mode mode);
  Stored<void> recover();
  Stored<void> settle();
  Stored<void> anchor_tail();
  std::optional<AppendResult> refused();
  AppendResult write(std::span<const Commit> commits, const RocksDatabase::Entry* replaced);
  AppendResult wrote(MerkleFrontier next);
  AppendResult failed(const StoreError& error);
  bool writable_again();

  // rocks_log_drop.cc
  Stored<void> read_horizon();
  Stored<void> finish_drop();
  [[nodiscard]] Stored<void> verify_dropped() const;
};

}  // namespace signalbox
