#include "server/replay/log_prefix.h"

#include <algorithm>

#include "domain/check.h"

namespace signalbox {

Stored<Position> LogPrefix::scan(Position from, Position to, const Visit& visit) const {
  return log_.scan(from, std::min(to, tail_), visit);
}

Stored<Commit> LogPrefix::read_commit(Position position) const {
  if (position > tail_) {
    return tl::unexpected(
        StoreError{StoreError::Kind::not_found, "the log ended before that", {}, position});
  }
  return log_.read_commit(position);
}

AppendResult LogPrefix::append(Position, std::span<const Commit>) {
  SIGNALBOX_CHECK(false);
  return {};
}

Stored<AppendResult> LogPrefix::redact(Position, const Redaction&) {
  SIGNALBOX_CHECK(false);
  return AppendResult{};
}

MerkleFrontier LogPrefix::frontier() const {
  SIGNALBOX_CHECK(false);
  return {};
}

}  // namespace signalbox
