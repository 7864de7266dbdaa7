// A view of a log for long work beside a service: its reading ends once the service stops.
#pragma once

#include <atomic>

#include "store/event_log.h"

namespace signalbox {

// Only for reading. Refers to the log and to `stopped`, which outlive it.
class InterruptibleLog final : public EventLog {
 public:
  InterruptibleLog(const EventLog& log, const std::atomic<bool>& stopped)
      : log_(log), stopped_(stopped) {}

  [[nodiscard]] Position tail() const override { return log_.tail(); }
  AppendResult append(Position expected_tail, std::span<const Commit> commits) override;
  // Fails with `io` once `stopped` is set.
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    return log_.read_commit(position);
  }
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) override;
  [[nodiscard]] MerkleFrontier frontier() const override { return log_.frontier(); }
  [[nodiscard]] Horizon horizon() const override { return log_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return log_.base(); }

 private:
  const EventLog& log_;
  const std::atomic<bool>& stopped_;
};

}  // namespace signalbox
