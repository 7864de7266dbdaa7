// The embedded log: RocksDB under one data directory, held by one process.
//
//   <data>/log/         the database          <data>/anchor       see anchor.h
//   <data>/server.lock  see directory_lock.h  FORMAT.md has the bytes
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "store/event_log.h"
#include "store/frame.h"
#include "store/leaf_groups.h"
#include "store/random_source.h"

namespace rocksdb {
class Env;
}

namespace signalbox {

// A position up to which a log is known to be good, e.g. from a world snapshot whose digest holds.
struct Checkpoint {
  Position position = 0;
  MerkleFrontier frontier;  // over the records 1 … position
};

// What opening a log found.
struct OpenReport {
  Position tail = 0;
  Position anchor = 0;  // what the anchor said
  std::uint64_t records_verified =
      0;                         // those after the checkpoint, by which the tree was recomputed
  std::uint64_t torn_bytes = 0;  // an append that a crash had cut short; taken off
};

class RocksEventLog final : public EventLog {
 public:
  struct Options {
    // For tools, on the directory of a running server too: takes no lock, writes nothing, and shows
    // the log as of the opening.
    bool read_only = false;
    // Who opens it to write, in one line: told to whoever finds the directory in use.
    std::string command = "signalbox serve";
    // The records up to here aren't read again. Without one, the whole log is.
    std::optional<Checkpoint> verified = std::nullopt;
    RandomSource random = nullptr;  // salts; secure_random() by default
    rocksdb::Env* env = nullptr;    // not owned; for tests that make the disk fail
    // For tests: what memory gathers before it goes to a table; RocksDatabase's default for 0.
    std::size_t buffer_bytes = 0;
    // After an append that found no space: the pause before the first that tries again.
    std::chrono::milliseconds full_pause{1000};
  };

  // Creates the log if there is none (and read_only isn't set), recovers it, and believes nothing:
  // positions without gaps, the tree's root as in the head, nothing missing up to the anchor.
  // `damaged`, `in_use`, `unsupported`, `full`, `io`; `not_found` if there is no log to read.
  static Stored<std::unique_ptr<RocksEventLog>> open(const std::filesystem::path& data_directory,
                                                     Options options);

  // Closes as close() does.
  ~RocksEventLog() override;

  [[nodiscard]] const OpenReport& report() const;

  [[nodiscard]] Position tail() const override;

  // After `unknown` every further append is unknown too: only a restart can find out. After `full`
  // nothing of the commits will ever surface, reading goes on, and a later append succeeds once
  // there is space again (tried after full_pause; after tries in vain, at last every 30 s).
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;

  // What was replaced may still lie in files of the database then, until erase_replaced().
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  // Gone from every file of the log when it returns ok. Opening does it as well, should a crash
  // have come between. Not while append() runs.
  Stored<void> erase_replaced();

  // The visitor must not append.
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  // As scan(), with each record as it lies there; its views last until the visitor returns.
  using VisitFrame = std::function<bool(const Frame&)>;
  Stored<Position> scan_frames(Position from, Position to, const VisitFrame& visit) const;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] MerkleFrontier frontier() const override;

  [[nodiscard]] Horizon horizon() const override;
  [[nodiscard]] Stored<std::string> base() const override;
  Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop) override;
  // What the tree has of the records up to the horizon, the dropped and the kept ones, in order.
  using VisitGroup = std::function<void(LeafGroup&&)>;
  Stored<void> scan_groups(const VisitGroup& visit) const;

  // Reads the log again from its first record to `through` (at most tail()), and every table file;
  // gives the tree over it, which for the whole log was compared with the head's. Any thread.
  // `dropped` for one before the horizon.
  [[nodiscard]] Stored<MerkleFrontier> verify(Position through) const;

  // Writes the anchor, exactly at the tail, and gives the directory free. Nothing else may be
  // called after it, except close() and the destructor.
  Stored<void> close();

 private:
  struct State;
  explicit RocksEventLog(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox
