#include "server/followers/run_root/render_mirror.h"

#include <cstdio>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "domain/refusals.h"
#include "server/followers/run_root/file_change.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The fields of a ledger row that depend on the kind of event.
struct RowFields {
  const char* kind;     // start, finish, skipped, missed, timed_out, incomplete, recovered
  const char* outcome;  // of a finish, else nullptr
  std::string code;     // of an error, else empty
  std::string message;
};

class RowOf {
 public:
  RowFields operator()(const TickStarted&) const { return {"start", nullptr, {}, {}}; }
  RowFields operator()(const TickSucceeded&) const { return {"finish", "succeeded", {}, {}}; }
  RowFields operator()(const TickFailed& event) const {
    return {"finish", "failed", event.code, event.error};
  }
  RowFields operator()(const TickSkipped& event) const {
    return {"skipped", nullptr, "TICK_IN_PROGRESS", event.reason};
  }
  RowFields operator()(const TickMissed& event) const {
    return {"missed", nullptr, "MISSED", event.reason};
  }
  RowFields operator()(const TickTimedOut& event) const {
    return {"timed_out", nullptr, "TIMEOUT",
            "no end after " + std::to_string(event.elapsed_ms) + " ms"};
  }
  RowFields operator()(const TickIncompleteDetected& event) const {
    return {"incomplete", nullptr, "PREVIOUS_TICK_INCOMPLETE", event.evidence};
  }
  RowFields operator()(const TickRecovered& event) const {
    return {"recovered", nullptr, {}, event.reason};
  }
  template <class OfAnotherNoun>
  requires(!EventOf<OfAnotherNoun, TickEvent>) RowFields operator()(const OfAnotherNoun&) const {
    return {"", nullptr, {}, {}};
  }
};

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
  object["started_at"] = time_or_null(tick.started_at_ns);
  object["lease_ms"] = tick.lease_ms;
  object["run_id"] = id_or_null(tick.run_id);
  return object;
}

json::array next_commands(const Record& record, const MirroredTick& tick) {
  const Position from = tick.token == 0 ? record.position : tick.token;
  json::array commands;
  commands.emplace_back("signalbox events --from " + std::to_string(from) + " --limit 50");
  commands.emplace_back("signalbox tick list --loop " + shell_word(tick.loop));
  if (!tick.run_id.is_nil()) commands.emplace_back("signalbox run get " + to_string(tick.run_id));
  commands.emplace_back(recover_command(tick.loop, tick.token));
  return commands;
}

}  // namespace

std::string tick_marker_text(const MirroredTick& tick) {
  json::object object;
  object["schema_version"] = "tick_in_progress.v1";
  object["ts"] = format_time(tick.started_at_ns);
  object["stage"] = tick.stage;
  object["reason"] = tick.reason;
  object["token"] = tick.token;
  object["loop"] = tick.loop;
  object["lease_ms"] = tick.lease_ms;
  return json::serialize(object) + "\n";
}

std::string tick_ledger_row(const Record& record, const MirroredTick* tick) {
  const RowFields fields = apply(RowOf{}, record.event);
  json::object row;
  row["schema_version"] = "tick_ledger.v1";
  row["kind"] = fields.kind;
  row["position"] = record.position;
  row["ts"] = format_time(record.recorded_at_ns);
  row["loop"] = record.stream.name;
  row["token"] = tick == nullptr ? 0 : tick->token;
  row["stage"] = tick == nullptr ? "" : tick->stage;
  // A recovery has a reason of its own; every other row has the reason for which the tick began.
  const bool is_recovery = event_as<TickRecovered>(record.event) != nullptr;
  row["reason"] = is_recovery ? fields.message : (tick == nullptr ? "" : tick->reason);
  row["outcome"] = fields.outcome == nullptr ? json::value(nullptr) : json::value(fields.outcome);
  row["error"] = fields.code.empty() ? json::value(nullptr)
                                     : json::value{{"code", fields.code},
                                                   {"message", text_or_null(fields.message)}};
  row["actor"] = record.actor;
  return json::serialize(row) + "\n";
}

std::string lock_file_text(const MirroredLock& lock) {
  boost::json::object object;
  object["schema_version"] = "lock.v1";
  object["key"] = lock.key;
  object["owner"] = lock.owner;
  object["token"] = lock.token;
  object["lease_ms"] = lock.lease_ms;
  object["acquired_at"] = format_time(lock.acquired_at_ns);
  object["expires_at"] = format_time(lock.expires_at_ns);
  object["reason"] = lock.reason;
  return boost::json::serialize(object) + "\n";
}

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
  // The fields below are for lists over many run roots.
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
