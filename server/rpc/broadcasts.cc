#include "server/rpc/broadcasts.h"

#include "server/rpc/described_json.h"
#include "server/rpc/time_text.h"

namespace signalbox {
namespace {

constexpr std::string_view heartbeat_skipped = "heartbeat.skipped";

}  // namespace

std::optional<Broadcast> broadcast_of(const Record& record) {
  const auto* skipped = event_as<TickSkipped>(record.event);
  if (skipped == nullptr) return std::nullopt;
  Broadcast broadcast{heartbeat_skipped, {}};
  broadcast.params["loop"] = skipped->loop;
  broadcast.params["stage"] = skipped->stage;
  broadcast.params["reason"] = skipped->reason;
  broadcast.params["token"] = to_json(skipped->token);
  broadcast.params["position"] = to_json(record.position);
  broadcast.params["recorded_at"] = format_time(record.recorded_at_ns);
  if (!record.span_id.is_nil()) broadcast.params["span_id"] = to_string(record.span_id);
  return broadcast;
}

const std::vector<std::string>& broadcast_names() {
  static const std::vector<std::string> names = {std::string(heartbeat_skipped)};
  return names;
}

}  // namespace signalbox
