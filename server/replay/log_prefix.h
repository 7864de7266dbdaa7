// A read-only view of a log as it was when an earlier position was its tail.
#pragma once

#include "store/event_log.h"

namespace signalbox {

class LogPrefix final : public EventLog {
 public:
  // `log` outlives it. `tail` is at most the log's own.
  LogPrefix(const EventLog& log, Position tail) : log_(log), tail_(tail) {}

  [[nodiscard]] Position tail() const override { return tail_; }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] Horizon horizon() const override { return log_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return log_.base(); }

  // Abort (CHECK): the past can't be changed, and its Merkle tree isn't kept.
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  [[nodiscard]] MerkleFrontier frontier() const override;

 private:
  const EventLog& log_;
  const Position tail_;
};

}  // namespace signalbox
