// The log of an audit: read only, of a running server too, and every record of it checked in one
// pass.
//
// Opening a log reads all of it that lies after what is believed. Here that is the newest
// snapshot's position, and the scan, which hashes every record anyway, finds out whether the belief
// was right.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct AuditLog {
  std::unique_ptr<RocksEventLog> log;
  std::optional<Checkpoint> believed;  // scan_leaves() checks it

  [[nodiscard]] Position tail() const { return log->tail(); }
};

Called<AuditLog> open_audit_log(const std::filesystem::path& data);

// POSITION_NOT_FOUND.
CallError position_not_found(Position position, Position tail);

// POSITION_NOT_FOUND unless 1 ≤ position ≤ the log's tail.
Called<void> require_position(const AuditLog& log, Position position);

}  // namespace signalbox
