#include "projections/timeline.h"

#include <algorithm>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/refusals.h"
#include "domain/retry_policy.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

class TimelineFold {
 public:
  TimelineFold(RunTimeline& timeline, const PipelineDefinition& pipeline)
      : timeline_(timeline), pipeline_(pipeline) {}

  void apply(const Record& record) {
    record_ = &record;
    move_statuses();
    signalbox::apply(*this, record.event);
    timeline_.last_position = record.position;
  }

  void operator()(const RunStarted& event) {
    timeline_.run_id = record_->stream.run_id;
    timeline_.started = event;
    timeline_.actor = record_->actor;
    timeline_.pipeline = pipeline_.name;
    timeline_.mocked = mocked_in(pipeline_);
    timeline_.started_position = record_->position;
    timeline_.started_at_ns = record_->recorded_at_ns;
    timeline_.budget = event.budget;
    timeline_.max_retries = event.max_retries;
    for (const StationDefinition& definition : pipeline_.stations) {
      TimelineStation& station = timeline_.stations.emplace_back();
      station.name = definition.name;
      station.executor = definition.executor;
    }
  }
  void operator()(const RunSucceeded&) { end_run(); }
  void operator()(const RunFailed& event) {
    timeline_.failure = event;
    // A station without an attempt fails only if a person rejects it.
    if (timeline_.not_retried.empty()) {
      explain_end({Outcome::failed, event.error_class, event.code, event.message}, false);
    }
    end_run();
  }
  void operator()(const RunCancelRequested& event) {
    request_cancel(event.reason);
    // The station waits until its job has ended, so that the job doesn't take this for an approval.
    if (event.rejects) note_decision(Decision::reject, event.reason);
  }
  void operator()(const RunCanceled& event) {
    if (!timeline_.cancel) request_cancel(event.reason);
    end_run();
  }

  void operator()(const RunRetried& event) {
    timeline_.failure.reset();
    timeline_.not_retried.clear();
    failures_ = 0;
    timeline_.cancel.reset();
    timeline_.ended_at_ns = 0;
    timeline_.budget = event.budget;
    timeline_.max_retries = event.max_retries;
    timeline_.retries.push_back({record_->recorded_at_ns, record_->position, record_->actor,
                                 event.reason, event.station, event.strategy});
  }

  void operator()(const StationClaimed& event) {
    TimelineAttempt& attempt = station().attempts.emplace_back();
    attempt.number = event.attempt;
    attempt.strategy = event.strategy;
    attempt.worker = event.worker;
    attempt.token = record_->position;
    attempt.lock_token = event.lock_token;
    attempt.span_id = record_->span_id;
    attempt.started_at_ns = record_->recorded_at_ns;
  }
  void operator()(const StationSubmitIntended& event) { attempt().job_id = event.job_id; }
  void operator()(const StationExternalRefSet& event) {
    attempt().result.external_ref = event.external_ref;
  }
  void operator()(const StationHeartbeat&) {}
  void operator()(const StationSucceeded& event) {
    end_attempt(Outcome::succeeded, event.result);
    advance();
  }
  void operator()(const StationUsageReported& event) {
    attempt().usage = event.usage;
    timeline_.used = timeline_.used + event.usage;
  }
  void operator()(const LateUsageReported& event) {
    timeline_.used = timeline_.used + event.usage;
    for (TimelineStation& station : timeline_.stations) {
      for (TimelineAttempt& attempt : station.attempts) {
        if (attempt.token == record_->cause) attempt.usage = event.usage;
      }
    }
  }
  void operator()(const StationHeld& event) {
    wait(event.reason, 0);
    station().waiting_note = event.note;
    station().asked = event.reason == WaitReason::approval ? record_->position : 0;
    if (event.reason == WaitReason::approval) station().decided.reset();
  }
  void operator()(const StationApproved& event) {
    decide(Decision::approve, event.reason);
    advance();
  }
  void operator()(const StationApprovalRequested& event) {
    wait(WaitReason::approval, 0);
    station().waiting_note = event.question;
    station().asked = record_->position;
    station().decided.reset();
  }
  void operator()(const StationApprovalGiven& event) { decide(Decision::approve, event.reason); }
  void operator()(const StationResultHeld& event) {
    const std::string question = station().waiting_note;
    const Position asked = station().asked;
    end_attempt(Outcome::succeeded, event.result);
    wait(WaitReason::approval, 0);
    station().waiting_note = question;
    station().asked = asked;
  }
  void operator()(const StationRejected& event) { decide(Decision::reject, event.reason); }
  void operator()(const RunBudgetRaised& event) { timeline_.budget = event.budget; }
  void operator()(const StationAttemptFailed& event) {
    end_attempt(event.failure.outcome, event.result);
    attempt().failure = event.failure;
    ++failures_;
    wait(WaitReason::backoff, event.retry_at_ns);
  }
  void operator()(const StationFailed& event) { fail_station(event.failure, event.result); }
  void operator()(const StationTimedOut& event) { fail_station(event.failure, event.result); }
  void operator()(const StationDeferred& event) {
    attempt().ended_at_ns = record_->recorded_at_ns;
    attempt().deferred = true;
    attempt().deferred_note = event.note;
    wait(event.reason, event.until_ns);
  }
  void operator()(const StationReady&) { stop_waiting(); }
  void operator()(const StationCanceled&) {
    stop_waiting();
    if (station().attempts.empty() || attempt().ended_at_ns != 0) return;
    attempt().outcome = Outcome::canceled;
    attempt().ended_at_ns = record_->recorded_at_ns;
  }
  void operator()(const CancelConfirmed&) {
    if (timeline_.cancel) timeline_.cancel->confirmed = true;
  }
  void operator()(const CancelEscaped& event) {
    if (timeline_.cancel) timeline_.cancel->escaped_pids = event.pids;
  }
  void operator()(const StationStalled& event) {
    attempt().stalls.push_back({record_->recorded_at_ns, event.action, event.stalled_ms});
    wait(WaitReason::stalled, 0);
  }
  void operator()(const StationProgressed&) { stop_waiting(); }
  void operator()(const WatchdogTimedOut& event) { attempt().timed_out = event; }
  void operator()(const RunPaused& event) { timeline_.paused_reason = event.reason; }
  void operator()(const RunResumed&) { timeline_.paused_reason.clear(); }
  template <class OfAnotherNoun>
  requires(!EventOf<OfAnotherNoun, RunEvent> && !EventOf<OfAnotherNoun, StationEvent>) void
  operator()(const OfAnotherNoun&) {}

 private:
  TimelineStation& station() { return timeline_.stations.at(current_); }
  TimelineAttempt& attempt() { return station().attempts.back(); }

  void advance() {
    failures_ = 0;
    if (current_ + 1 < timeline_.stations.size()) ++current_;
  }
  void decide(Decision decision, const std::string& reason) {
    stop_waiting();
    note_decision(decision, reason);
  }
  void note_decision(Decision decision, const std::string& reason) {
    const std::uint32_t number = station().attempts.empty() ? 0 : attempt().number;
    station().decided = {decision, record_->recorded_at_ns, record_->actor, reason, number};
  }

  // Follows the domain's transition tables. Runs before the event is applied, while its station is
  // still current.
  void move_statuses() {
    if (timeline_.stations.empty()) return;
    const std::uint16_t number = tag_of(record_->event).number;
    if (const auto next = next_status(timeline_.status, number)) timeline_.status = *next;
    if (const auto next = next_status(station().status, number)) station().status = *next;
  }

  void end_attempt(Outcome outcome, const AttemptResult& result) {
    stop_waiting();
    TimelineAttempt& ended = attempt();
    const std::string external_ref = ended.result.external_ref;
    ended.outcome = outcome;
    ended.ended_at_ns = record_->recorded_at_ns;
    ended.result = result;
    if (ended.result.external_ref.empty()) ended.result.external_ref = external_ref;
  }
  void fail_station(const Failure& failure, const AttemptResult& result) {
    end_attempt(failure.outcome, result);
    attempt().failure = failure;
    ++failures_;
    const auto& stalls = attempt().stalls;
    explain_end(failure, failure.code == "STALLED" && !stalls.empty() &&
                             stalls.back().action == StallAction::fail);
  }
  void explain_end(const Failure& failure, bool was_stalled) {
    const auto& decided = station().decided;
    const bool was_rejected =
        failure.code == rejected_code && decided && decided->decision == Decision::reject;
    timeline_.not_retried =
        not_retried_text({pipeline_.stations.at(current_), timeline_.max_retries, failure,
                          failures_, was_rejected, was_stalled});
  }
  void end_run() {
    timeline_.ended_at_ns = record_->recorded_at_ns;
    timeline_.paused_reason.clear();
  }
  void request_cancel(const std::string& reason) {
    timeline_.cancel = TimelineCancel{record_->recorded_at_ns, record_->actor, reason, false, {}};
  }
  void wait(WaitReason reason, std::int64_t until_ns) {
    stop_waiting();
    station().waiting = reason;
    station().waiting_until_ns = until_ns;
  }
  void stop_waiting() {
    station().waiting.reset();
    station().waiting_until_ns = 0;
    station().waiting_note.clear();
    station().asked = 0;
  }

  RunTimeline& timeline_;
  const PipelineDefinition& pipeline_;
  const Record* record_ = nullptr;
  std::size_t current_ = 0;
  std::uint32_t failures_ = 0;  // of the current station since the run's start or retry
};

}  // namespace

RunTimeline fold_timeline(std::span<const Record> records, const PipelineDefinition& pipeline) {
  SIGNALBOX_CHECK(!records.empty() && event_as<RunStarted>(records.front().event) != nullptr);
  RunTimeline timeline;
  TimelineFold fold(timeline, pipeline);
  for (const Record& record : records) fold.apply(record);
  return timeline;
}

std::string log_command(const RunTimeline& run, const std::string& station) {
  const auto found = std::ranges::find(run.stations, station, &TimelineStation::name);
  const bool has_log = found != run.stations.end() && found->executor != ExecutorKind::modal &&
                       !found->attempts.empty() && !found->attempts.back().job_id.empty();
  if (!has_log) return {};
  return "signalbox run logs " + to_string(run.run_id) + " --station " + shell_word(station);
}

}  // namespace signalbox
