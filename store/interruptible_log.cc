#include "store/interruptible_log.h"

#include <utility>

namespace signalbox {

AppendResult InterruptibleLog::append(Position, std::span<const Commit>) {
  return {AppendStatus::unknown, tail(), "this view of the log is for reading"};
}

Stored<AppendResult> InterruptibleLog::redact(Position, const Redaction&) {
  return store_failure(StoreError::Kind::unsupported, "this view of the log is for reading");
}

Stored<Position> InterruptibleLog::scan(Position from, Position to, const Visit& visit) const {
  bool interrupted = false;
  auto scanned = log_.scan(from, to, [&](Record&& record) {
    interrupted = stopped_;
    return !interrupted && visit(std::move(record));
  });
  if (interrupted) {
    return store_failure(StoreError::Kind::io, "reading the log ended because the service stops");
  }
  return scanned;
}

}  // namespace signalbox
