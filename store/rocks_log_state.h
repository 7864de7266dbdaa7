// The state of a RocksEventLog, shared by the sources that open (rocks_event_log), write
// (rocks_log_writing), redact (rocks_log_redaction), read (rocks_log_reading) and drop
// (rocks_log_drop, rocks_log_horizon).
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
#include <vector>

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

  // Locked shared by readers while they use the database; exclusively to close and reopen it.
  mutable std::shared_mutex mutex;
  std::unique_ptr<RocksDatabase> database;  // null only if it couldn't be reopened
  // Locks `mutex` exclusively. Walks hold it for as long as a history is, so they let go before
  // their next entry, and rewritings of files end soon.
  class Exclusive {
   public:
    explicit Exclusive(State& state);
    ~Exclusive() { wanted_ = false; }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    std::unique_lock<std::mutex> turn_;
    std::atomic<bool>& wanted_;
    std::unique_lock<std::shared_mutex> lock_;
  };
  mutable std::mutex turn_mutex;  // held by an Exclusive; walks that let go wait for it
  std::atomic<bool> exclusive_wanted = false;
  // Locked shared while a reader looks at the horizon and takes its view of the entries (an
  // iterator, or a copy), exclusively while both change. Held for moments, and taken after `mutex`.
  mutable std::shared_mutex horizon_mutex;
  Horizon horizon;                  // changed by the appending thread only
  std::vector<Position> due_drops;  // likewise
  PendingRedactions redactions;     // likewise

  std::atomic<Position> tail = 0;
  std::atomic<Position> synced = 0;  // known to be durable
  std::atomic<std::chrono::steady_clock::time_point> doubted_until{};

  // The members below are used by the appending thread only.
  MerkleFrontier frontier;
  Sha256 sha256;
  BatchEncoder encoder;
  Writing writing = Writing::possible;
  std::string failure;  // the reason why writing isn't possible
  // RocksDB's sequence number after the last append that succeeded.
  std::uint64_t last_sequence = 0;
  // When writing to a full disk was last attempted, and how long to wait before the next attempt.
  std::chrono::steady_clock::time_point full_tried_at{};
  std::chrono::steady_clock::duration full_pause{};
  // When a write found no space last, and how long the next one isn't trusted to find some.
  std::chrono::steady_clock::time_point found_full_at{};
  std::chrono::steady_clock::duration doubt{};
  Position anchored = 0;  // position in the anchor file
  std::chrono::steady_clock::time_point anchored_at{};
  // Sequence number of the first batch that recover() found in the write-ahead logs; 0 for none.
  std::uint64_t wal_sequence = 0;
  bool unsynced = false;  // append_entries() has written since the last sync that succeeded
  bool closed = false;

  [[nodiscard]] bool believes_head() const { return options.read_only && options.believes_head; }
  AppendResult refuse(AppendStatus status) const { return {status, tail, failure}; }
  // Adds file and record to an error from within an entry.
  [[nodiscard]] StoreError located(StoreError error) const;
  // Returns the error for a database that couldn't be reopened.
  [[nodiscard]] StoreError unreadable() const;
  // Returns a copy of the entry that has the record; fails with `not_found` behind the log's end,
  // and with `dropped`. Any thread.
  [[nodiscard]] Stored<RocksDatabase::Entry> entry_with(Position position) const;
  using WalkEntry = std::function<Stored<EntryEnd>(std::string_view entry, Position first,
                                                   Position from, Position to)>;
  // Visits the entries with records from … to, without holding `mutex` for longer than one of them
  // takes, unless another walk visits an entry on this thread.
  Stored<Position> walk(Position from, Position to, const bool& wanted,
                        const WalkEntry& visit) const;
  struct WalkStep {
    Position last = 0;        // as the result of walk()
    bool has_let_go = false;  // the walk isn't over: it continues behind `last`
  };
  Stored<WalkStep> walk_until_wanted(Position from, Position to, const bool& wanted,
                                     bool may_let_go, const WalkEntry& visit) const;
  // For writing, first reads what the tables have from the record `read_from` on; 0: nothing.
  Stored<void> open_database(RocksDatabase::Mode mode, Position read_from = 0);
  Stored<void> recover();
  Stored<void> settle();
  Stored<bool> finish_erasure();
  // On the appending thread, or while nobody else uses the log.
  Stored<void> erase_replaced();
  Stored<void> anchor_tail();
  // Returns the result with which a write is refused at the moment; nullopt if it may be attempted.
  std::optional<AppendResult> refused();
  // Fails with `full` or `io`, and why, if a write is refused at the moment.
  Stored<void> require_writable();
  // An entry in its new form, and the marks of the erasure of its old one (RocksDatabase).
  struct Replacement {
    Position first = 0;
    std::string_view entry;
    std::string erasing;
  };
  // Puts what the entries do to redactions into their batch, and returns what is pending then.
  // Defined in rocks_log_redaction.cc.
  Stored<PendingRedactions> put_redactions(rocksdb::WriteBatch& batch,
                                           std::span<const std::string_view> entries,
                                           const EntryRedactions& given) const;
  void put_pending(rocksdb::WriteBatch& batch, const PendingRedactions& pending) const;
  // Writes the commits, and the replacement unless null, as one batch.
  AppendResult write(std::span<const Commit> commits, const Replacement* replacement);
  // Writes a batch without records.
  Stored<void> write_values(rocksdb::WriteBatch& batch);
  // Updates the state after a write that succeeded or failed, and returns the result of the append.
  AppendResult wrote(MerkleFrontier next);
  // Makes what append_entries() has written durable, if that wasn't done yet.
  Stored<void> sync_entries();
  // `was_synced`: what failed was a sync, or may have been one.
  AppendResult failed(const StoreError& error, bool was_synced = true);
  // Notes that a write found no space.
  void note_full();
  // Attempts to reopen the database for writing after the disk was full.
  bool writable_again();

  // Defined in rocks_log_drop.cc and rocks_log_horizon.cc.
  Stored<void> read_horizon();
  // Puts the erasure of what is dropped, the tree's hashes and the horizon into a batch.
  void put_drop(rocksdb::WriteBatch& batch, const StagedDrop& staged, const Horizon& next) const;
  // Puts the horizon with another base into a batch, and the erasure of the former base. Returns
  // that horizon. `renewed_at` is as in EntryRedactions.
  Horizon put_renewed_base(rocksdb::WriteBatch& batch, const StagedDrop& staged,
                           Position renewed_at) const;
  Stored<void> finish_drop();
  Stored<void> add_leaves(const Horizon& before, StagedDrop& staged, LeafGrouping& grouping,
                          const std::atomic<bool>* canceled) const;
  Stored<void> purge_dropped(Position through, std::atomic<bool>* canceled) const;
  // Erases the bases with these keys and notes whether the files were rewritten, in one write.
  Stored<void> note_finished(const std::vector<std::string>& strays, bool is_purged);
  [[nodiscard]] Stored<std::vector<std::string>> stray_bases() const;
  [[nodiscard]] Stored<void> verify_dropped() const;
};

}  // namespace signalbox
