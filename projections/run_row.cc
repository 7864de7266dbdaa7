#include "projections/run_row.h"

#include "domain/check.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

void wait(RunRow& row, WaitReason reason, std::int64_t until_ns) {
  row.waiting = reason;
  row.waiting_until_ns = until_ns;
}
void stop_waiting(RunRow& row) {
  row.waiting.reset();
  row.waiting_until_ns = 0;
}

void end_run(RunRow& row, const Record& record) {
  row.ended_at_ns = record.recorded_at_ns;
  row.ended_position = record.position;
  row.paused_reason.clear();
  stop_waiting(row);
}

void set_error(RunRow& row, std::string_view code, std::string_view message) {
  row.error_code = code;
  row.error_message = message;
}

struct ApplyToRunRow {
  RunRow& row;
  const Record& record;

  void operator()(const RunStarted&) const { SIGNALBOX_CHECK(!"a run starts once"); }
  void operator()(const RunSucceeded&) const { end_run(row, record); }
  void operator()(const RunFailed& event) const {
    set_error(row, event.code, event.message);
    end_run(row, record);
  }
  void operator()(const RunCancelRequested& event) const {
    row.cancel_requested = true;
    row.error_message = event.reason;
  }
  void operator()(const RunCanceled& event) const {
    set_error(row, "", event.reason);
    end_run(row, record);
  }

  // The station and its attempts are kept.
  void operator()(const RunRetried&) const {
    row.station_status = *next_status(row.station_status, RunRetried::tag.number);
    row.cancel_requested = false;
    row.ended_at_ns = 0;
    row.ended_position = 0;
  }

  void operator()(const StationClaimed& event) const {
    stop_waiting(row);
    row.station = event.station;
    row.attempts = event.attempt;
    row.worker = event.worker;
    row.strategy = event.strategy;
  }
  void operator()(const StationSucceeded&) const { advance(); }
  void operator()(const StationApproved&) const { advance(); }
  void operator()(const StationRejected&) const { stop_waiting(row); }
  void operator()(const StationHeld& event) const {
    row.station = event.station;
    wait(row, event.reason, 0);
  }
  void operator()(const StationApprovalRequested&) const { wait(row, WaitReason::approval, 0); }
  void operator()(const StationApprovalGiven&) const { stop_waiting(row); }
  void operator()(const StationResultHeld&) const {}  // it waits already
  void operator()(const StationUsageReported&) const {}
  void operator()(const LateUsageReported&) const {}
  void operator()(const RunBudgetRaised&) const {}
  void advance() const {
    stop_waiting(row);
    set_error(row, "", "");
    row.error_class.reset();
    if (row.station_index + 1 == row.stations) return;
    ++row.station_index;
    row.station.clear();
    row.station_status = StationStatus::pending;
    row.attempts = 0;
    row.worker.clear();
  }
  void operator()(const StationAttemptFailed& event) const {
    set_error(row, event.failure.code, event.failure.message);
    row.error_class = event.failure.error_class;
    wait(row, WaitReason::backoff, event.retry_at_ns);
  }
  void operator()(const StationDeferred& event) const { wait(row, event.reason, event.until_ns); }
  void operator()(const StationReady&) const { stop_waiting(row); }
  void operator()(const StationCanceled&) const { stop_waiting(row); }
  void operator()(const StationSubmitIntended&) const {}
  void operator()(const StationExternalRefSet&) const {}
  void operator()(const StationHeartbeat&) const {}
  void operator()(const StationFailed& event) const { row.error_class = event.failure.error_class; }
  void operator()(const StationTimedOut& event) const {
    row.error_class = event.failure.error_class;
  }
  void operator()(const CancelConfirmed&) const {}
  void operator()(const CancelEscaped&) const {}
  void operator()(const StationStalled&) const { wait(row, WaitReason::stalled, 0); }
  void operator()(const StationProgressed&) const { stop_waiting(row); }
  void operator()(const WatchdogTimedOut&) const {}
  void operator()(const RunPaused& event) const { row.paused_reason = event.reason; }
  void operator()(const RunResumed&) const { row.paused_reason.clear(); }
  template <class OfAnotherNoun>
  requires(!EventOf<OfAnotherNoun, RunEvent> && !EventOf<OfAnotherNoun, StationEvent>) void
  operator()(const OfAnotherNoun&) const {}
};

tl::unexpected<StoreError> misfit(const RunRow& row, const Record& record) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the row of run " + to_string(row.run_id) + " isn't one that " +
                  std::string(tag_of(record.event).name) + " can follow";
  error.position = record.position;
  return tl::unexpected(std::move(error));
}

}  // namespace

RunRow row_of(const Record& record, const RunStarted& event, const PipelineDefinition& pipeline) {
  RunRow row;
  row.run_id = record.stream.run_id;
  row.goal = utf8_prefix(event.goal, RunRow::goal_bytes_max);
  row.project = event.project;
  row.labels = event.labels;
  row.idempotency_key = event.idempotency_key;
  row.request_digest = event.request_digest;
  row.pipeline_digest = event.pipeline_digest;
  row.pipeline = pipeline.name;
  row.station = pipeline.stations.front().name;
  row.stations = static_cast<std::uint32_t>(pipeline.stations.size());
  row.started_at_ns = record.recorded_at_ns;
  row.updated_at_ns = record.recorded_at_ns;
  row.started_position = record.position;
  row.last_position = record.position;
  return row;
}

Stored<void> apply(RunRow& row, const Record& record) {
  const std::uint16_t number = tag_of(record.event).number;
  const auto run_status = next_status(row.status, number);
  if (std::holds_alternative<StationEvent>(record.event)) {
    const auto station_status = next_status(row.station_status, number);
    const bool lacks_attempt =
        row.attempts == 0 && attempt_presence(number) == AttemptPresence::one;
    if (!station_status || lacks_attempt) return misfit(row, record);
    row.station_status = *station_status;
  } else if (!run_status && !std::holds_alternative<PlanEvent>(record.event)) {
    return misfit(row, record);
  } else if (event_as<RunRetried>(record.event) != nullptr &&
             !next_status(row.station_status, number)) {
    return misfit(row, record);
  }
  if (run_status) row.status = *run_status;
  row.updated_at_ns = record.recorded_at_ns;
  row.last_position = record.position;
  apply(ApplyToRunRow{row, record}, record.event);
  return {};
}

}  // namespace signalbox
