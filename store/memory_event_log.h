// The event log in memory, for tests and simulation: the same entries, frames and tree as on disk,
// with failures on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "store/random_source.h"
#include "store/replica_log.h"

namespace signalbox {

// How an append fails, and whether its records survive.
struct AppendFault {
  AppendStatus status = AppendStatus::unknown;  // unknown or full
  bool written = false;  // for unknown only: the records are there after restart()
};

class MemoryEventLog final : public ReplicaLog {
 public:
  struct Options {
    // Called before every append, drop and redaction that would write, with its number (from 1). A
    // result makes it fail.
    std::function<std::optional<AppendFault>(std::uint64_t append)> fault = nullptr;
    // Salts; by default a counter, so that equal histories have equal roots.
    RandomSource random = nullptr;
  };

  MemoryEventLog();
  explicit MemoryEventLog(Options options);
  ~MemoryEventLog() override;

  [[nodiscard]] Position tail() const override;
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;
  [[nodiscard]] std::chrono::milliseconds full_for() const override { return {}; }
  AppendResult append_entries(Position expected_tail, std::span<const std::string_view> entries,
                              MerkleFrontier next, const EntryRedactions& redactions) override;
  [[nodiscard]] PendingRedactions pending_redactions() const override;
  Stored<void> settle_redactions(Position through) override;
  Stored<void> sync() override { return {}; }
  [[nodiscard]] Position synced() const override { return tail(); }
  [[nodiscard]] std::vector<Position> due_drops() const override;
  Stored<void> commit_due_drop(const StagedDrop& staged, Position dropped_at) override;
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  Stored<Position> scan_entries(Position from, const VisitEntryBytes& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] MerkleFrontier frontier() const override;
  [[nodiscard]] Horizon horizon() const override;
  [[nodiscard]] Stored<std::string> base() const override;
  Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop) override;

  // There are no files: what rewrites them does nothing.
  [[nodiscard]] Stored<StagedDrop> stage_drop(HistoryDrop drop,
                                              const std::atomic<bool>* canceled) const override;
  Stored<bool> store_base_part(StagedDrop& staged) override;
  Stored<AppendResult> commit_drop(Position expected_tail, const Commit& commit,
                                   const StagedDrop& staged) override;
  [[nodiscard]] Stored<void> purge_dropped(std::atomic<bool>* canceled) const override;
  Stored<void> note_purged() override;
  [[nodiscard]] Stored<StagedRedaction> stage_redaction(Position position, const Event& replacement,
                                                        const Salt& salt) const override;
  Stored<AppendResult> commit_redaction(Position expected_tail, const Commit& commit,
                                        const StagedRedaction& staged) override;
  [[nodiscard]] Stored<Erasure> plan_erasure() const override { return Erasure{}; }
  Stored<void> begin_erasure() override { return {}; }
  [[nodiscard]] Stored<void> purge_replaced(const Erasure& /*erasure*/,
                                            std::atomic<bool>* /*canceled*/) const override {
    return {};
  }
  Stored<void> note_erased(const Erasure& erasure) override;

  // Simulates a restart of the process: after `unknown` the log accepts appends again, and records
  // that were written in spite of the failure become visible.
  void restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signalbox
