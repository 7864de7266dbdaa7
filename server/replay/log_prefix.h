// The beginning of a log, as it was when a position was its tail. Reads only.
#pragma once

#include "store/event_log.h"

namespace signalbox {

class LogPrefix final : public EventLog {
 public:
  // `log` outlives it; `tail` is at most the log's.
  LogPrefix(const EventLog& log, Position tail) : log_(log), tail_(tail) {}

  [[nodiscard]] Position tail() const override { return tail_; }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override;
  [[nodiscard]] Horizon horizon() const override { return log_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return log_.base(); }

  // What has been can't be changed, and its tree isn't kept: a mistake of the program.
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  [[nodiscard]] MerkleFrontier frontier() const override;

 private:
  const EventLog& log_;
  const Position tail_;
};

}  // namespace signalbox
