#include "server/rpc/results.h"

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/parse.hpp>

#include "domain/refusals.h"
#include "server/rpc/described_json.h"
#include "server/rpc/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string expiry(const Record& record, std::int64_t lease_ms) {
  return format_time(record.recorded_at_ns + lease_ms * 1'000'000);
}

json::value json_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  json::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(text) : value;
}

void add_assignment(json::object& claim, const RunId& id, const std::string& goal,
                    const std::string& input, const std::string& run_root,
                    const std::string& data_directory) {
  claim["goal"] = goal;
  claim["input"] = json_or_null(input);
  claim["run_root"] = run_root.empty() ? data_directory + "/runs/" + to_string(id) : run_root;
}

// What the run is about: from the world, or, for a repeated answer about a run that has ended, from
// its first event.
void add_assignment(const Api& api, json::object& claim, const RunId& id) {
  if (const Run* run = api.engine.world().find_run(id)) {
    add_assignment(claim, id, run->goal, run->input, run->run_root, api.facts.data_directory);
    claim["previous"] = run->previous.empty() ? json::value(nullptr) : json::value(run->previous);
    return;
  }
  const auto row = api.projector.index().find(id);
  if (!row || !*row) return;
  const auto first = api.log.read((*row)->started_position, 1);
  if (!first || first->empty()) return;
  if (const auto* started = event_as<RunStarted>(first->front().event)) {
    add_assignment(claim, id, started->goal, started->input, started->run_root,
                   api.facts.data_directory);
    claim["previous"] = nullptr;
  }
}

json::value claim_json(const Api& api, std::span<const Record> records) {
  for (const Record& record : records) {
    const auto* claimed = event_as<StationClaimed>(record.event);
    if (claimed == nullptr) continue;
    json::object claim;
    claim["run_id"] = to_string(record.stream.run_id);
    claim["station"] = claimed->station;
    claim["attempt"] = claimed->attempt;
    claim["strategy"] = boost::describe::enum_to_string(claimed->strategy, "?");
    claim["token"] = record.position;
    claim["span_id"] = to_string(record.span_id);
    claim["lease_ms"] = claimed->lease_ms;
    claim["expires_at"] = expiry(record, claimed->lease_ms);
    add_assignment(api, claim, record.stream.run_id);
    return claim;
  }
  return nullptr;
}

// The statuses that the events about one attempt's end lead to.
struct EndStatuses {
  const char* run = "running";
  const char* station = "running";
};

EndStatuses statuses_after(std::span<const Record> records) {
  EndStatuses statuses;
  StationStatus station = StationStatus::running;
  RunStatus run = RunStatus::running;
  bool station_ended = false;
  for (const Record& record : records) {
    const std::uint16_t number = tag_of(record.event).number;
    if (event_as<StationClaimed>(record.event) != nullptr) break;  // the next attempt's
    if (std::holds_alternative<StationEvent>(record.event) && !station_ended) {
      if (const auto next = next_status(station, number)) station = *next;
      station_ended = station != StationStatus::running;
    }
    if (const auto next = next_status(run, number)) run = *next;
  }
  statuses.run = name_of(run);
  statuses.station = name_of(station);
  return statuses;
}

}  // namespace

json::object start_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["run_id"] = to_string(records.front().stream.run_id);
  result["status"] = "queued";
  result["replayed"] = false;
  return result;
}

json::object cancel_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    result["run_id"] = to_string(record.stream.run_id);
    if (event_as<RunCanceled>(record.event) != nullptr) result["status"] = "canceled";
    if (event_as<RunCancelRequested>(record.event) != nullptr) result["status"] = "running";
  }
  result["cancel_requested"] = true;
  return result;
}

json::object claim_result(const Api& api, std::span<const Record> records) {
  json::object result;
  result["claim"] = claim_json(api, records);
  return result;
}

json::object heartbeat_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
      result["lease_ms"] = beat->lease_ms;
      result["expires_at"] = expiry(record, beat->lease_ms);
    }
  }
  return result;
}

json::object external_ref_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["changed"] = !records.empty();
  return result;
}

json::object complete_result(const Api& api, std::span<const Record> records) {
  const EndStatuses statuses = statuses_after(records);
  json::object result;
  result["run_status"] = statuses.run;
  result["station_status"] = statuses.station;
  if (records.size() > 1) {
    json::value claim = claim_json(api, records);
    if (!claim.is_null()) result["claim"] = std::move(claim);
  }
  return result;
}

json::object defer_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* deferred = event_as<StationDeferred>(record.event)) {
      result["until"] = format_time(deferred->until_ns);
    }
  }
  return result;
}

}  // namespace signalbox
