// Simulates the disk under the log, which may be full, fail, or lose what wasn't synced; and the
// committer that writes batches to it at the pace of a disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "server/engine/committer.h"
#include "store/memory_event_log.h"
#include "tests/simulation/environment.h"

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

  [[nodiscard]] bool has_space() const;
  // Opens the log for a new life of the server.
  void reopen() { log_.restart(); }
  [[nodiscard]] const MemoryEventLog& log() const { return log_; }
  [[nodiscard]] MemoryEventLog& log() { return log_; }

 private:
  // Writes a random number of the first commits and returns the others.
  std::span<const Commit> write_some(Position expected_tail, std::span<const Commit> batch);

  Environment& environment_;
  std::optional<AppendFault> next_fault_;
  MemoryEventLog log_;
  std::int64_t full_until_ns_ = 0;
};

// Commits batches on simulated time, as one life of the server.
class SimulatedCommitter final : public Committer {
 public:
  using Done = std::function<void(CommitOutcome)>;

  SimulatedCommitter(Environment& environment, SimulatedDisk& disk, Owner owner, Done done)
      : environment_(environment), disk_(disk), owner_(owner), done_(std::move(done)) {}

  void start(Position expected_tail, std::vector<Commit> batch) override;

 private:
  void commit(Position expected_tail, std::vector<Commit>& batch);

  Environment& environment_;
  SimulatedDisk& disk_;
  Owner owner_;
  Done done_;
};

}  // namespace signalbox::simulation
