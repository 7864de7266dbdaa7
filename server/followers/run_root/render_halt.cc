#include "server/followers/run_root/render_halt.h"

#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "domain/refusals.h"
#include "server/followers/run_root/file_change.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string likely_cause(const TickIncompleteDetected& event) {
  if (event.evidence == "lease_over") {
    return "the process that ran the tick ended without a word, or hangs: its lease of " +
           std::to_string(event.stale_after_ms) + " ms is over";
  }
  if (event.evidence == "earlier_incarnation") {
    return "the service was stopped or killed while the tick was in progress, and whether the "
           "tick's process outlived it isn't known";
  }
  if (event.evidence == "foreign_marker") {
    return "somebody who doesn't use this service began a tick here and didn't end it: the log "
           "doesn't know the marker, and it is older than " +
           std::to_string(event.stale_after_ms) + " ms";
  }
  if (event.evidence == "unreadable_marker") {
    return "the marker was cut short or overwritten: it can't be read, so nobody knows which tick "
           "it stands for";
  }
  return event.evidence;
}

json::object in_flight(const MirroredTick& tick) {
  json::object object;
  object["loop"] = tick.loop;
  object["token"] = tick.token == 0 ? json::value(nullptr) : json::value(tick.token);
  object["stage"] = tick.stage;
  object["reason"] = tick.reason;
  object["started_at"] =
      tick.started_at_ns == 0 ? json::value(nullptr) : json::value(format_time(tick.started_at_ns));
  object["lease_ms"] = tick.lease_ms;
  object["run_id"] =
      tick.run_id.is_nil() ? json::value(nullptr) : json::value(to_string(tick.run_id));
  return object;
}

json::array next_commands(const Record& record, const MirroredTick& tick) {
  const std::string loop = shell_word(tick.loop);
  const Position from = tick.token == 0 ? record.position : tick.token;
  json::array commands;
  commands.emplace_back("signalbox events --from " + std::to_string(from) + " --limit 50");
  commands.emplace_back("signalbox tick list --loop " + loop);
  if (!tick.run_id.is_nil()) commands.emplace_back("signalbox run get " + to_string(tick.run_id));
  commands.emplace_back("signalbox tick recover " + loop + " --reason checked");
  return commands;
}

}  // namespace

std::string halt_path(Token token, Position halted_at) {
  char name[64];
  std::snprintf(name, sizeof name, "operator/halt/tick-%04llu.json",
                static_cast<unsigned long long>(token == 0 ? halted_at : token));
  return name;
}

std::string halt_text(const Record& record, const TickIncompleteDetected& event,
                      const MirroredTick& tick) {
  const std::string below = tick.root + "/";
  const std::string marker_path = event.marker_path.empty() ? below + run_root_path::tick_marker
                                                            : std::string(event.marker_path);
  json::object halt;
  halt["schema_version"] = "halt.v1";
  halt["code"] = "PREVIOUS_TICK_INCOMPLETE";
  halt["created_at"] = format_time(record.recorded_at_ns);
  halt["position"] = record.position;
  halt["actor"] = record.actor;
  halt["loop"] = tick.loop;
  halt["in_flight"] = in_flight(tick);
  halt["evidence"] = event.evidence;
  halt["likely_cause"] = likely_cause(event);
  halt["marker_path"] = marker_path;
  halt["marker"] = event.marker;
  halt["marker_age_ms"] =
      event.marker_age_ms < 0 ? json::value(nullptr) : json::value(event.marker_age_ms);
  halt["stale_after_ms"] = event.stale_after_ms;
  halt["related_paths"] = json::array{marker_path, below + run_root_path::tick_ledger,
                                      below + halt_path(tick.token, record.position),
                                      below + run_root_path::latest_halt};
  halt["next_commands"] = next_commands(record, tick);
  return json::serialize(halt) + "\n";
}

}  // namespace signalbox
