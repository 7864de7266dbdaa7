#include "tools/audit/audit_log.h"

#include <limits>

#include "domain/try.h"
#include "projections/world_snapshot.h"
#include "server/rpc/error_json.h"

namespace signalbox {

Called<AuditLog> open_audit_log(const std::filesystem::path& data) {
  AuditLog opened;
  {
    // Loaded before the log is opened, which can then only be longer than the snapshot.
    auto loaded = load_newest_snapshot(data / "projections" / "snapshots",
                                       std::numeric_limits<Position>::max());
    if (loaded.snapshot) {
      opened.believed =
          Checkpoint{loaded.snapshot->world.position, std::move(loaded.snapshot->frontier)};
    }
  }
  opened.log =
      TRY(called(RocksEventLog::open(data, {.read_only = true, .verified = opened.believed})));
  if (opened.believed && opened.believed->position < opened.log->horizon().position) {
    opened.believed.reset();  // its records were dropped, so that it can't be verified
  }
  return opened;
}

CallError position_not_found(Position position, Position tail) {
  return from_rejection(
      {ErrorCode::POSITION_NOT_FOUND,
       "the log has no record " + std::to_string(position) + "; it ends at " + std::to_string(tail),
       {position_detail("position", position), position_detail("tail", tail)},
       {"signalbox events --backwards --limit 1"}});
}

Called<void> require_position(const AuditLog& log, Position position) {
  if (position >= 1 && position <= log.tail()) return {};
  return tl::unexpected(position_not_found(position, log.tail()));
}

}  // namespace signalbox
