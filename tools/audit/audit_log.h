// The log of an audit: opened read-only, also while a server runs, with every record checked in one
// pass.
//
// Opening a log verifies the records after a checkpoint that is assumed to be right. Here that is
// the newest snapshot's, and scan_leaves(), which hashes every record anyway, verifies the
// assumption.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "store/rocks_event_log.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct AuditLog {
  std::unique_ptr<RocksEventLog> log;
  std::optional<Checkpoint> believed;  // assumed; scan_leaves() verifies it

  [[nodiscard]] Position tail() const { return log->tail(); }
};

// Opens the log in `data` read-only. Fails with the errors of the store.
Called<AuditLog> open_audit_log(const std::filesystem::path& data);

// Makes the error POSITION_NOT_FOUND.
CallError position_not_found(Position position, Position tail);

// Fails with POSITION_NOT_FOUND unless 1 ≤ position ≤ the log's tail.
Called<void> require_position(const AuditLog& log, Position position);

}  // namespace signalbox
