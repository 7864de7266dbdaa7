// Simulates the disk under the log, which may be full, fail, or lose what wasn't synced, with the
// snapshot beside it; and the committer that writes batches to it at the pace of a disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "server/engine/committer.h"
#include "store/memory_event_log.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/retention.h"
#include "tests/simulation/simulated_redactions.h"

namespace signalbox::simulation {

// The log on a disk with faults. Outlives every life of the server.
class SimulatedDisk {
 public:
  explicit SimulatedDisk(Environment& environment);

  // Appends like the log. If the outcome is unknown, all of the batch is written, its first
  // commits, or nothing, and never half a commit.
  AppendResult append(Position expected_tail, std::span<const Commit> batch);
  // Simulates a power loss while this batch is being written.
  void append_and_crash(Position expected_tail, std::span<const Commit> batch);
  // The same for a commit that `write` writes.
  AppendResult append_by(const LogWrite& write, Position expected_tail, const Commit& commit);
  void append_and_crash_by(const LogWrite& write, Position expected_tail, const Commit& commit);

  [[nodiscard]] bool has_space() const;
  // Opens the log for a new life of the server.
  void reopen();
  [[nodiscard]] const MemoryEventLog& log() const { return log_; }
  [[nodiscard]] MemoryEventLog& log() { return log_; }
  // Returns the log with the records that retentions have dropped.
  [[nodiscard]] const EventLog& whole() const { return environment_.retains ? whole_ : log_; }
  [[nodiscard]] Retention& retention() { return retention_; }
  [[nodiscard]] SimulatedRedactions& redactions() { return redactions_; }

  // Returns the latest snapshot of the world, as bytes; empty: there is none.
  [[nodiscard]] const std::string& snapshot() const { return snapshot_; }
  // Keeps a snapshot, unless there may be none now.
  void keep_snapshot(std::string world);
  // Removes the snapshot, and allows none until resume_snapshots() or the next life.
  void suspend_snapshots();
  void resume_snapshots() { snapshots_suspended_ = false; }

 private:
  // Writes a random number of the first commits and returns the others.
  std::span<const Commit> write_some(Position expected_tail, std::span<const Commit> batch);
  // Writes the commit or nothing.
  void write_perhaps(const LogWrite& write, Position expected_tail, const Commit& commit);
  AppendResult write_by(const LogWrite& write, Position expected_tail, const Commit& commit);
  // Lets the disk become full, or not. Returns whether it has space.
  bool has_space_still();
  // Appends to the copy what the log has got.
  void copy();

  Environment& environment_;
  std::optional<AppendFault> next_fault_;
  MemoryEventLog log_;
  MemoryEventLog whole_;  // stays empty if nothing is ever dropped
  std::int64_t full_until_ns_ = 0;
  Retention retention_{environment_, log_, whole_};
  SimulatedRedactions redactions_{environment_, log_};
  std::string snapshot_;
  bool snapshots_suspended_ = false;
};

// Commits batches on simulated time, as one life of the server.
class SimulatedCommitter final : public Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  SimulatedCommitter(Environment& environment, SimulatedDisk& disk, Owner owner, Done done)
      : environment_(environment), disk_(disk), owner_(owner), done_(std::move(done)) {}

  void start(Position expected_tail, std::vector<Commit> batch) override;
  void start_write(Position expected_tail, Commit commit, LogWrite write) override;

 private:
  struct Work {
    Position expected_tail = 0;
    std::vector<Commit> batch;
    LogWrite write;  // empty: append()
  };

  void begin(Work work);
  void commit(Work& work);

  Environment& environment_;
  SimulatedDisk& disk_;
  Owner owner_;
  Done done_;
};

}  // namespace signalbox::simulation
