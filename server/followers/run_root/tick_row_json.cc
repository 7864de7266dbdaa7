#include "server/followers/run_root/tick_row_json.h"

#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {

boost::json::object tick_row_to_json(const TickRow& row, const std::string& run_root) {
  boost::json::object object;
  object["schema_version"] = "tick_ledger.v1";
  object["kind"] = to_json(row.kind);
  object["position"] = to_json(row.position);
  object["ts"] = format_time(row.recorded_at_ns);
  object["loop"] = row.loop;
  object["token"] = to_json(row.token);
  object["stage"] = row.stage;
  object["reason"] = row.reason;
  object["outcome"] = nullptr;
  if (!row.outcome.empty()) object["outcome"] = row.outcome;
  object["error"] = nullptr;
  if (!row.code.empty()) {
    boost::json::object& error = object["error"].emplace_object();
    error["code"] = row.code;
    error["message"] = nullptr;
    if (!row.error.empty()) error["message"] = row.error;
  }
  object["actor"] = row.actor;
  // What follows is for lists over many run roots.
  if (!row.run_id.is_nil()) object["run_id"] = to_string(row.run_id);
  if (!run_root.empty()) object["run_root"] = run_root;
  if (row.kind == TickRowKind::start) {
    object["lease_ms"] = row.lease_ms;
  } else if (row.token != 0) {
    object["duration_ms"] = row.duration_ms;
  }
  return object;
}

}  // namespace signalbox
