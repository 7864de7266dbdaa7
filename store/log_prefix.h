// A read-only view of a log as it was when an earlier position was its tail. What was dropped or
// redacted since then is so in the view as well.
#pragma once

#include <algorithm>

#include "domain/check.h"
#include "store/event_log.h"

namespace signalbox {

class LogPrefix final : public EventLog {
 public:
  // `log` outlives it. `tail` is at most the log's own.
  LogPrefix(const EventLog& log, Position tail) : log_(log), tail_(tail) {}

  [[nodiscard]] Position tail() const override { return tail_; }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    return log_.scan(from, std::min(to, tail_), visit);
  }
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    if (position > tail_) {
      return tl::unexpected(
          StoreError{StoreError::Kind::not_found, "the log ended before that", {}, position});
    }
    return log_.read_commit(position);
  }
  [[nodiscard]] Horizon horizon() const override { return log_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return log_.base(); }

  // Abort (CHECK): the past can't be changed, and its Merkle tree isn't kept.
  AppendResult append(Position, std::span<const Commit>) override {
    SIGNALBOX_CHECK(false);
    return {};
  }
  Stored<AppendResult> redact(Position, const Redaction&) override {
    SIGNALBOX_CHECK(false);
    return AppendResult{};
  }
  [[nodiscard]] MerkleFrontier frontier() const override {
    SIGNALBOX_CHECK(false);
    return {};
  }

 private:
  const EventLog& log_;
  const Position tail_;
};

}  // namespace signalbox
