#include "server/followers/recorded_base.h"

#include <algorithm>
#include <optional>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/try.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

// Returns the result that the event gives the station; nullptr if it gives none.
const AttemptResult* result_for(const Event& event, const std::string& station) {
  if (const auto* done = event_as<StationSucceeded>(event)) {
    return done->station == station ? &done->result : nullptr;
  }
  if (const auto* held = event_as<StationResultHeld>(event)) {
    return held->station == station ? &held->result : nullptr;
  }
  return nullptr;
}

std::string declared_base(const AttemptResult& result) {
  const auto metadata = parse_json(result.metadata);
  if (!metadata || !metadata->is_object()) return {};
  const boost::json::value* const base = metadata->get_object().if_contains("base_commit");
  return base != nullptr && base->is_string() ? std::string(base->get_string()) : std::string();
}

}  // namespace

Stored<std::string> recorded_base(const EventLog& log, const RunIndex& index, Position applied,
                                  const RunOfBase& run) {
  const Stream stream = Stream::run(run.id);
  const auto positions = index.run_positions(run.id);
  // Without the index, as while it is computed anew, the run's part of the log has to be read.
  const Position unread = positions ? applied + 1 : run.started;
  std::optional<std::string> newest;
  if (unread < run.before) {
    TRY(log.scan(unread, run.before - 1, [&](Record&& record) {
      const auto* result =
          record.stream == stream ? result_for(record.event, run.station) : nullptr;
      if (result != nullptr) newest = declared_base(*result);
      return true;
    }));
  }
  if (newest) return *newest;
  if (!positions) return std::string();
  auto next = std::lower_bound(positions->begin(), positions->end(), run.before);
  while (next != positions->begin()) {
    const auto records = TRY(log.read(*--next, 1));
    if (records.empty()) break;
    const auto* result = result_for(records.front().event, run.station);
    if (result != nullptr) return declared_base(*result);
  }
  return std::string();
}

}  // namespace signalbox
