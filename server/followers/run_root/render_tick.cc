#include "server/followers/run_root/render_tick.h"

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// What a row says beyond that it happened.
struct RowWords {
  const char* kind;     // start, finish, skipped, timed_out, incomplete, recovered
  const char* outcome;  // of a finish, else null
  std::string code;     // of an error, else null
  std::string message;
};

class RowOf {
 public:
  RowWords operator()(const TickStarted&) const { return {"start", nullptr, {}, {}}; }
  RowWords operator()(const TickSucceeded&) const { return {"finish", "succeeded", {}, {}}; }
  RowWords operator()(const TickFailed& event) const {
    return {"finish", "failed", event.code, event.error};
  }
  RowWords operator()(const TickSkipped& event) const {
    return {"skipped", nullptr, "TICK_IN_PROGRESS", event.reason};
  }
  RowWords operator()(const TickMissed& event) const {
    return {"missed", nullptr, "MISSED", event.reason};
  }
  RowWords operator()(const TickTimedOut& event) const {
    return {"timed_out", nullptr, "TIMEOUT",
            "no end after " + std::to_string(event.elapsed_ms) + " ms"};
  }
  RowWords operator()(const TickIncompleteDetected& event) const {
    return {"incomplete", nullptr, "PREVIOUS_TICK_INCOMPLETE", event.evidence};
  }
  RowWords operator()(const TickRecovered& event) const {
    return {"recovered", nullptr, {}, event.reason};
  }
  template <class OfAnotherNoun>
  requires(!EventOf<OfAnotherNoun, TickEvent>) RowWords operator()(const OfAnotherNoun&) const {
    return {"", nullptr, {}, {}};
  }
};

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
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
  const RowWords words = apply(RowOf{}, record.event);
  json::object row;
  row["schema_version"] = "tick_ledger.v1";
  row["kind"] = words.kind;
  row["position"] = record.position;
  row["ts"] = format_time(record.recorded_at_ns);
  row["loop"] = record.stream.name;
  row["token"] = tick == nullptr ? 0 : tick->token;
  row["stage"] = tick == nullptr ? "" : tick->stage;
  // Of a start why it began; of the others what they say of themselves.
  const bool is_recovery = event_as<TickRecovered>(record.event) != nullptr;
  row["reason"] = is_recovery ? words.message : (tick == nullptr ? "" : tick->reason);
  row["outcome"] = words.outcome == nullptr ? json::value(nullptr) : json::value(words.outcome);
  row["error"] = words.code.empty()
                     ? json::value(nullptr)
                     : json::value{{"code", words.code}, {"message", text_or_null(words.message)}};
  row["actor"] = record.actor;
  return json::serialize(row) + "\n";
}

}  // namespace signalbox
