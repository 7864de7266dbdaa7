// A read-only view of a log as it was when an earlier position was its tail. What was dropped or
// redacted since then is so in the view as well.
#pragma once

#include <algorithm>

#include "store/event_log.h"

namespace signalbox {

class LogPrefix final : public ReadOnlyLog {
 public:
  // `log` outlives it. `tail` is at most the log's own.
  LogPrefix(const EventLog& log, Position tail) : ReadOnlyLog(log), tail_(tail) {}

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

 private:
  const Position tail_;
};

}  // namespace signalbox
