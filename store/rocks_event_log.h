// The embedded event log: RocksDB in a data directory that one process has locked.
//
//   <data>/log/         the database          <data>/anchor       see anchor.h
//   <data>/server.lock  see directory_lock.h  FORMAT.md has the bytes
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/frame.h"
#include "store/leaf_groups.h"
#include "store/random_source.h"
#include "store/replica_log.h"

namespace rocksdb {
class Env;
}

namespace signalbox {

// A position up to which a log is known to be good, e.g. from a world snapshot with a valid digest.
struct Checkpoint {
  Position position = 0;
  MerkleFrontier frontier;  // over the records 1 … position
};

// The findings of opening a log.
struct OpenReport {
  Position tail = 0;
  Position anchor = 0;  // position in the anchor; 0 without one
  // Records after the checkpoint; the tree was recomputed over them.
  std::uint64_t records_verified = 0;
  // Bytes of an append that a crash interrupted; truncated unless read_only.
  std::uint64_t torn_bytes = 0;
  // An erasure of replaced payloads was completed, and projections/ was removed before. What was
  // read from there has to be dropped.
  bool erased_replaced = false;
};

class RocksEventLog final : public ReplicaLog {
 public:
  struct Options {
    // For tools, also on the directory of a running server: takes no lock, writes nothing, and
    // shows the log as of the opening.
    bool read_only = false;
    // With read_only: reads neither all records to recompute the tree, which is taken from the
    // head, nor the write-ahead logs to find torn batches. What is read later is checked record by
    // record, and the head is compared with the anchor. For tools that show a part of the log and
    // prove nothing.
    bool believes_head = false;
    // The command that opens the log for writing, in one line. Shown to whoever finds the directory
    // in use.
    std::string command = "signalbox serve";
    // How long opening waits for the lock while another process holds it.
    std::chrono::milliseconds lock_wait{0};
    // Records up to this checkpoint aren't verified again. Without one the whole log is.
    std::optional<Checkpoint> verified = std::nullopt;
    RandomSource random = nullptr;  // salts; secure_random() by default
    rocksdb::Env* env = nullptr;    // not owned; for tests that inject disk failures
    // For tests: bytes gathered in memory before a flush; 0 for RocksDatabase's default.
    std::size_t buffer_bytes = 0;
    // Minimum time after an append that found no space before the next append is attempted.
    std::chrono::milliseconds full_pause{1000};
  };

  // Opens the log: creates it if there is none (unless read_only), recovers it after a crash, and
  // verifies it: positions without gaps, the tree's root as in the head, nothing missing up to the
  // anchor. Fails with `damaged`, `in_use`, `unsupported`, `full`, `io`; with `not_found` if
  // read_only and there is no log. Blocks while it reads the log after the checkpoint.
  static Stored<std::unique_ptr<RocksEventLog>> open(const std::filesystem::path& data_directory,
                                                     Options options);

  // Calls close() and ignores its result.
  ~RocksEventLog() override;

  [[nodiscard]] const OpenReport& report() const;

  [[nodiscard]] Position tail() const override;

  // After `unknown` every further append is unknown too: only a restart can determine the outcome.
  // After `full` none of the commits will ever appear, reading continues, and a later append
  // succeeds once there is space again. It is attempted after full_pause, which doubles after each
  // failed attempt, up to 30 s.
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;

  AppendResult append_entries(Position expected_tail, std::span<const std::string_view> entries,
                              MerkleFrontier next, const EntryRedactions& redactions) override;
  [[nodiscard]] PendingRedactions pending_redactions() const override;
  Stored<void> settle_redactions(Position through) override;

  Stored<void> sync() override;
  [[nodiscard]] Position synced() const override;
  [[nodiscard]] std::vector<Position> due_drops() const override;
  Stored<void> commit_due_drop(const StagedDrop& staged, Position dropped_at) override;

  // At first twice the full_pause, and a minute at most.
  [[nodiscard]] std::chrono::milliseconds full_for() const override;

  // The replaced payload may still be in files of the database until erase_replaced().
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  // Removes replaced payloads from every file of the log; they are gone when it returns ok. Opening
  // does the same, in case a crash intervened, and removes projections/ before. Must not run
  // concurrently with append().
  Stored<void> erase_replaced();
  // Does the same, with projections/ as well, if there is something to erase; returns whether there
  // was. After `full` it can be tried again. Nobody else may use the log or projections/ meanwhile.
  Stored<bool> finish_erasure();

  // A walk that is under way when a redaction is committed goes on without it.
  [[nodiscard]] Stored<StagedRedaction> stage_redaction(Position position, const Event& replacement,
                                                        const Salt& salt) const override;
  Stored<AppendResult> commit_redaction(Position expected_tail, const Commit& commit,
                                        const StagedRedaction& staged) override;
  [[nodiscard]] Stored<Erasure> plan_erasure() const override;
  Stored<void> begin_erasure() override;
  [[nodiscard]] Stored<void> purge_replaced(const Erasure& erasure,
                                            std::atomic<bool>* canceled = nullptr) const override;
  Stored<void> note_erased(const Erasure& erasure) override;

  // The visitor must not append.
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  // Like scan(), but passes each record as its frame, undecoded; the views last until the visitor
  // returns.
  using VisitFrame = std::function<bool(const Frame&)>;
  Stored<Position> scan_frames(Position from, Position to, const VisitFrame& visit) const;
  Stored<Position> scan_entries(Position from, const VisitEntryBytes& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] MerkleFrontier frontier() const override;

  [[nodiscard]] Horizon horizon() const override;
  [[nodiscard]] Stored<std::string> base() const override;
  // Does all of the steps below.
  Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop) override;

  // The base is written in parts of 1 MiB. purge_dropped() blocks for as long as it takes to write
  // what is left of the tables. A drop that was given up is removed by the next one, or by the next
  // opening.
  [[nodiscard]] Stored<StagedDrop> stage_drop(
      HistoryDrop drop, const std::atomic<bool>* canceled = nullptr) const override;
  Stored<bool> store_base_part(StagedDrop& staged) override;
  Stored<AppendResult> commit_drop(Position expected_tail, const Commit& commit,
                                   const StagedDrop& staged) override;
  [[nodiscard]] Stored<void> purge_dropped(std::atomic<bool>* canceled = nullptr) const override;
  Stored<void> note_purged() override;
  // Calls `visit` with the groups of hashes that the tree keeps of the records up to the horizon,
  // dropped and kept, in order.
  using VisitGroup = std::function<void(LeafGroup&&)>;
  Stored<void> scan_groups(const VisitGroup& visit) const;

  // Reads all records from the horizon to `through` (at most tail()) again, the kept ones before
  // it, and every table file. Returns the tree over the log up to `through`; for the whole log it
  // was compared with the head's. Fails with `damaged`, and with `dropped` if `through` lies before
  // the horizon. Any thread.
  [[nodiscard]] Stored<MerkleFrontier> verify(Position through) const;

  // Compares every table file with the checksum that was recorded when it was written, and calls
  // `go_on` after each MiB; ends if that returns false. The service goes on meanwhile: what it
  // deletes is left out. Compares all before it fails: with `damaged`, and with `io` if a file
  // can't be read and no other is damaged. Any thread.
  [[nodiscard]] Stored<void> check_files(const std::function<bool()>& go_on) const;

  // Writes the anchor exactly at the tail, closes the database and releases the lock. After it only
  // close() and the destructor may be called.
  Stored<void> close();

 private:
  struct State;
  explicit RocksEventLog(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox
