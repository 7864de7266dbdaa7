#include "server/followers/recorded_commit.h"

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

std::string commit_in(const AttemptResult& result, const std::string& field) {
  const auto metadata = parse_json(result.metadata);
  if (!metadata || !metadata->is_object()) return {};
  const boost::json::value* const commit = metadata->get_object().if_contains(field);
  return commit != nullptr && commit->is_string() ? std::string(commit->get_string())
                                                  : std::string();
}

}  // namespace

Stored<std::string> recorded_commit(const EventLog& log, const RunIndex& index, Position applied,
                                    const DeclaredCommit& wanted) {
  const Stream stream = Stream::run(wanted.run_id);
  const auto positions = index.run_positions(wanted.run_id);
  // Without the index, as while it is computed anew, the run's part of the log has to be read.
  const Position unread = positions ? applied + 1 : wanted.started;
  std::optional<std::string> newest;
  if (unread < wanted.before) {
    TRY(log.scan(unread, wanted.before - 1, [&](Record&& record) {
      const auto* result =
          record.stream == stream ? result_for(record.event, wanted.station) : nullptr;
      if (result != nullptr) newest = commit_in(*result, wanted.field);
      return true;
    }));
  }
  if (newest) return *newest;
  if (!positions) return std::string();
  auto next = std::lower_bound(positions->begin(), positions->end(), wanted.before);
  while (next != positions->begin()) {
    const auto records = TRY(log.read(*--next, 1));
    if (records.empty()) break;
    const auto* result = result_for(records.front().event, wanted.station);
    if (result != nullptr) return commit_in(*result, wanted.field);
  }
  return std::string();
}

}  // namespace signalbox
