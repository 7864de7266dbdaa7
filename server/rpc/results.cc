#include "server/rpc/results.h"

#include <algorithm>

#include <boost/describe/enum_to_string.hpp>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "domain/evolve.h"
#include "domain/refusals.h"
#include "domain/station_turn.h"
#include "projections/run_history.h"
#include "server/engine/engine.h"
#include "server/followers/projector.h"
#include "server/rpc/assignment.h"
#include "server/rpc/past_reads.h"
#include "server/rpc/service_pause.h"
#include "server/text/described_text.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The length of a usual answer to a completion, which is reserved at once.
constexpr std::size_t complete_bytes_usual = 1024;

void append_claim(const Api& api, const Record& record, const StationClaimed& claimed,
                  std::string& out) {
  out += R"({"run_id":")";
  out += to_string(record.stream.run_id);
  out += R"(","station":)";
  append_json_string(out, claimed.station);
  out += R"(,"attempt":)";
  append_integer_text(out, claimed.attempt);
  out += R"(,"strategy":")";
  out += boost::describe::enum_to_string(claimed.strategy, "?");
  out += R"(","token":)";
  append_integer_text(out, record.position);
  out += R"(,"span_id":")";
  out += to_string(record.span_id);
  out += R"(","lease_ms":)";
  append_integer_text(out, claimed.lease_ms);
  out += R"(,"expires_at":")";
  out += lease_end_text(record.recorded_at_ns, claimed.lease_ms);
  out += '"';
  append_assignment(api, record, out);
  out += '}';
}

// Returns the first record that is a claim; nullptr if none is.
const Record* claim_in(std::span<const Record> records) {
  const auto found = std::ranges::find_if(records, [](const Record& record) {
    return event_as<StationClaimed>(record.event) != nullptr;
  });
  return found == records.end() ? nullptr : &*found;
}

// The statuses after the events of one attempt's end.
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
    if (event_as<StationClaimed>(record.event) != nullptr) break;  // of the next attempt
    if (std::holds_alternative<StationEvent>(record.event) && !station_ended) {
      if (const auto next = next_status(station, number)) station = *next;
      if (event_as<StationResultHeld>(record.event) != nullptr) station = StationStatus::waiting;
      station_ended = station != StationStatus::running;
    }
    if (const auto next = next_status(run, number)) run = *next;
  }
  statuses.run = name_of(run);
  statuses.station = name_of(station);
  return statuses;
}

std::optional<StallAction> present_stall(const Run& run) {
  if (!run.attempt || run.attempt->stalls == 0) return std::nullopt;
  if (run.station().status != StationStatus::waiting || asks_approval(run)) return std::nullopt;
  return stall_action(run.definition(), run.attempt->stalls - 1);
}

// Returns the stall action at a past heartbeat, from the run's records right before it.
std::optional<StallAction> stall_before(const Api& api, const Record& beat) {
  if (!api.projector.wait_for(beat.position)) return std::nullopt;
  const auto positions = api.projector.index().run_positions(beat.stream.run_id);
  if (!positions) return std::nullopt;
  for (auto position = positions->rbegin(); position != positions->rend(); ++position) {
    if (*position > beat.position) continue;
    const auto record = api.log.read(*position, 1);
    if (!record || record->empty()) return std::nullopt;
    const Event& event = record->front().event;
    if (const auto* stalled = event_as<StationStalled>(event)) return stalled->action;
    if (event_as<StationProgressed>(event) != nullptr) return std::nullopt;
    if (event_as<StationApprovalRequested>(event) != nullptr) return std::nullopt;
    if (event_as<StationClaimed>(event) != nullptr) return std::nullopt;
  }
  return std::nullopt;
}

// Returns the action taken about the stall during which a heartbeat arrived; nullopt if there was
// no stall or the heartbeat ended it.
std::optional<StallAction> stall_of(const Api& api, std::span<const Record> records) {
  if (records.size() > 1) return std::nullopt;  // it came with StationProgressed
  const Record& beat = records.front();
  const Run* run = api.engine.world().find_run(beat.stream.run_id);
  const bool now = run != nullptr && run->changed_at == beat.position;
  if (now) return present_stall(*run);
  return from_past<std::optional<StallAction>>(api, "stall " + std::to_string(beat.position),
                                               [&api, beat] { return stall_before(api, beat); });
}

}  // namespace

json::object start_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["run_id"] = to_string(records.front().stream.run_id);
  result["status"] = "queued";
  result["replayed"] = false;
  return result;
}

json::object pause_result(const Api&, std::span<const Record> records) {
  return pause_answer(records.front().stream.run_id, "paused", true);
}

json::object resume_result(const Api& api, std::span<const Record> records) {
  const RunId& id = records.front().stream.run_id;
  const Position position = records.back().position;
  for (const Record& record : records) {
    if (event_as<RunSucceeded>(record.event) != nullptr) {
      return pause_answer(id, name_of(RunStatus::succeeded), true);
    }
    if (event_as<RunFailed>(record.event) != nullptr) {
      return pause_answer(id, name_of(RunStatus::failed), true);
    }
    if (event_as<RunCanceled>(record.event) != nullptr) {
      return pause_answer(id, name_of(RunStatus::canceled), true);
    }
  }
  RunStatus status = RunStatus::running;
  // The status after these events. The events alone don't show whether the run was ever claimed.
  const Run* run = api.engine.world().find_run(id);
  if (run != nullptr && run->changed_at == position) {
    status = run->status;
  } else if (const auto then = run_at_position(api, id, position)) {
    status = then->status;
  }
  return pause_answer(id, name_of(status), true);
}

json::object pause_answer(const RunId& run_id, const char* status, bool changed) {
  json::object result;
  result["run_id"] = to_string(run_id);
  result["status"] = status;
  result["changed"] = changed;
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
  result["claim"] = nullptr;
  if (const Record* const record = claim_in(records)) {
    std::string claim;
    append_claim(api, *record, *event_as<StationClaimed>(record->event), claim);
    result["claim"] = parse_own_answer(claim);
  }
  if (records.empty() && api.engine.world().server.pause) {
    result["paused"] = pause_json(api.engine.world());
    result["next_commands"] = json::array{resume_service_command};
  }
  return result;
}

json::object heartbeat_result(const Api& api, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    if (const auto* beat = event_as<StationHeartbeat>(record.event)) {
      result["lease_ms"] = beat->lease_ms;
      result["expires_at"] = lease_end_text(record.recorded_at_ns, beat->lease_ms);
      const auto action = stall_of(api, records);
      result["stalled"] = action.has_value();
      if (action) result["action"] = boost::describe::enum_to_string(*action, "?");
    }
  }
  return result;
}

json::object renewal_result(const Api& api, std::int64_t lease_ms) {
  return {{"lease_ms", lease_ms},
          {"expires_at", lease_end_text(api.clock.wall_ns(), lease_ms)},
          {"stalled", false}};
}

json::object external_ref_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["changed"] = !records.empty();
  return result;
}

std::string complete_text(const Api& api, std::span<const Record> records) {
  const EndStatuses statuses = statuses_after(records);
  std::string text;
  text.reserve(complete_bytes_usual);
  text += R"({"run_status":")";
  text += statuses.run;
  text += R"(","station_status":")";
  text += statuses.station;
  text += '"';
  if (const Record* const record = claim_in(records)) {
    text += R"(,"claim":)";
    append_claim(api, *record, *event_as<StationClaimed>(record->event), text);
  }
  text += '}';
  return text;
}

json::object complete_result(const Api& api, std::span<const Record> records) {
  return parse_own_answer(complete_text(api, records));
}

json::object approval_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["requested"] = !records.empty();
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

namespace {

std::shared_ptr<const Run> read_run_at(const Api& api, const RunId& id, Position position) {
  // The read models lag behind the log by up to a second.
  if (!api.projector.wait_for(position)) return nullptr;
  const RunIndex& index = api.projector.index();
  const auto row = index.find(id);
  if (!row || !*row) return nullptr;
  const auto pipeline = index.find_pipeline((*row)->pipeline_digest);
  auto positions = index.run_positions(id);
  if (!pipeline || !*pipeline || !positions) return nullptr;
  std::erase_if(*positions, [position](Position each) { return each > position; });
  const auto records = read_records(api.log, *positions);
  return records && !records->empty() ? evolved_run(*records, **pipeline) : nullptr;
}

}  // namespace

std::shared_ptr<const Run> run_at_position(const Api& api, const RunId& id, Position position) {
  // Only this thread makes the position durable, so waiting for it here would never end.
  if (position > api.engine.durable_position()) return nullptr;
  return from_past<std::shared_ptr<const Run>>(
      api, "run " + to_string(id) + " at " + std::to_string(position),
      [&api, id, position] { return read_run_at(api, id, position); });
}

}  // namespace signalbox
