#include "projections/tick_row.h"

namespace signalbox {
namespace {

struct FillTickRow {
  TickRow& row;

  void operator()(const TickStarted& event) const {
    row.kind = TickRowKind::start;
    row.token = row.position;
    row.stage = event.stage;
    row.reason = event.reason;
    row.lease_ms = event.lease_ms;
    row.run_id = event.run_id;
    row.run_root = event.run_root;
  }
  void operator()(const TickSucceeded&) const {
    row.kind = TickRowKind::finish;
    row.outcome = "succeeded";
  }
  void operator()(const TickFailed& event) const {
    row.kind = TickRowKind::finish;
    row.outcome = "failed";
    row.code = event.code;
    row.error = event.error;
  }
  void operator()(const TickSkipped& event) const {
    row.kind = TickRowKind::skipped;
    row.code = "TICK_IN_PROGRESS";
    row.error = event.reason;
  }
  void operator()(const TickMissed& event) const {
    row.kind = TickRowKind::missed;
    row.token = 0;
    row.code = "MISSED";
    row.error = std::to_string(event.missed) + " due: " + event.reason;
  }
  void operator()(const TickTimedOut& event) const {
    row.kind = TickRowKind::timed_out;
    row.code = "TIMEOUT";
    row.error = "no end after " + std::to_string(event.elapsed_ms) + " ms";
  }
  void operator()(const TickIncompleteDetected& event) const {
    row.kind = TickRowKind::incomplete;
    row.code = "PREVIOUS_TICK_INCOMPLETE";
    row.error = event.evidence;
    if (row.token != 0) return;
    row.run_id = event.run_id;
    row.run_root = event.run_root;
  }
  void operator()(const TickRecovered& event) const {
    row.kind = TickRowKind::recovered;
    row.reason = event.reason;
    if (row.token == 0) row.run_root = event.run_root;
  }
};

}  // namespace

Token tick_token(const Record& record) {
  const auto* noun = std::get_if<TickEvent>(&record.event);
  if (noun == nullptr) return 0;
  return std::visit(
      [&record](const auto& event) -> Token {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(event)>, TickMissed>) {
          return 0;
        } else if constexpr (requires { event.token; }) {
          return event.token;
        } else {
          return record.position;
        }
      },
      *noun);
}

TickRow tick_row(const Record& record, const TickRow* start) {
  TickRow row;
  if (start != nullptr) {
    row = *start;
    row.duration_ms = (record.recorded_at_ns - start->recorded_at_ns) / 1'000'000;
  }
  row.position = record.position;
  row.recorded_at_ns = record.recorded_at_ns;
  row.actor = record.actor;
  row.loop = record.stream.name;
  if (const auto* noun = std::get_if<TickEvent>(&record.event)) std::visit(FillTickRow{row}, *noun);
  return row;
}

}  // namespace signalbox
