// The log in memory, for tests and simulation: the same entries, frames and tree as on disk, and
// failures on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "store/event_log.h"
#include "store/random_source.h"

namespace signalbox {

// How an append fails, and what of it is there nevertheless.
struct AppendFault {
  AppendStatus status = AppendStatus::unknown;  // unknown or full
  bool written = false;                         // unknown only: the next life finds the records
};

class MemoryEventLog final : public EventLog {
 public:
  struct Options {
    // Asked before every append that would write, with its number (1 for the first).
    std::function<std::optional<AppendFault>(std::uint64_t append)> fault = nullptr;
    RandomSource random =
        nullptr;  // salts; by default a counter, so that equal histories have equal roots
  };

  MemoryEventLog();
  explicit MemoryEventLog(Options options);
  ~MemoryEventLog() override;

  [[nodiscard]] Position tail() const override;
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] MerkleFrontier frontier() const override;
  [[nodiscard]] Horizon horizon() const override;
  [[nodiscard]] Stored<std::string> base() const override;
  Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop) override;

  // What a restart does: after `unknown` the log takes appends again, and what was written in spite
  // of it is there.
  void restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signalbox
