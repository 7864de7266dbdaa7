// How the events of stations, and of their attempts, change the world.
#include <algorithm>
#include <variant>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/current_station.h"
#include "domain/evolve.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

void end_attempt(World& world, Run& run) {
  if (!run.attempt) return;
  if (run.attempt->lock_token != 0) forget_dependent(world, run.attempt->lock_token, run.id);
  world.holders.erase(run.attempt->token);
  run.attempt.reset();
}

void evolve(World& world, Run& run, const Record& record, const StationClaimed& event) {
  make_unready(world, run);
  ++run.station().attempts;
  SIGNALBOX_CHECK(run.station().attempts == event.attempt);
  Attempt& attempt = run.attempt.emplace();
  attempt.token = record.position;
  world.holders.emplace_hint(world.holders.end(), record.position, record.actor);
  attempt.span_id = record.span_id;
  attempt.number = event.attempt;
  attempt.strategy = event.strategy;
  attempt.worker = event.worker;
  attempt.lease_ms = event.lease_ms;
  attempt.lease_renewed_at = record.position;
  attempt.started_at_ns = record.recorded_at_ns;
  attempt.lock_token = event.lock_token;
  if (event.lock_token != 0) add_dependent(world, event.lock_token, run.id);
  begin_plan(world, run);
}

void evolve(World& world, Run& run, const Record&, const StationSubmitIntended& event) {
  run.attempt->job_id = event.job_id;
  run.attempt->machine = event.machine;
  if (!has_job(run.definition())) return;
  run.machine = event.machine;
  const auto worktree = world.worktrees.find(run.id);
  if (worktree == world.worktrees.end()) return;
  worktree->second.runner = is_runner(event.machine) ? std::string(event.machine) : std::string();
}
void evolve(World&, Run& run, const Record&, const StationExternalRefSet& event) {
  run.attempt->external_ref = event.external_ref;
}
void evolve(World&, Run& run, const Record& record, const StationHeartbeat& event) {
  Attempt& attempt = *run.attempt;
  attempt.lease_ms = event.lease_ms;
  attempt.lease_renewed_at = record.position;
  if (event.progress_digest.empty() || event.progress_digest == attempt.progress_digest) return;
  attempt.progress_digest = event.progress_digest;
  attempt.last_progress_at = record.position;
  attempt.last_progress_at_ns = record.recorded_at_ns;
  // An attempt that is being ended for its stall has progressed too late.
  if (!attempt.ending) attempt.stalls = 0;
}
void evolve(World&, Run& run, const Record&, const StationStalled& event) {
  Attempt& attempt = *run.attempt;
  ++attempt.stalls;
  // The attempt's job is ended first; an outside worker's attempt ends with the next event.
  attempt.ending = event.action != StallAction::nudge && !attempt.job_id.empty();
  run.station().waiting = WaitReason::stalled;
}
void evolve(World&, Run&, const Record&, const StationProgressed&) {}
void evolve(World&, Run& run, const Record&, const StationUsageReported& event) {
  run.used = run.used + event.usage;
}
void evolve(World&, Run&, const Record&, const WatchdogTimedOut&) {}
void evolve(World&, Run&, const Record&, const CancelConfirmed&) {}
void evolve(World&, Run&, const Record&, const CancelEscaped&) {}

// Advances the run to the next station, if there is one.
void advance(World& world, Run& run, Position position) {
  run.previous.clear();
  run.resume_ref.clear();
  end_plan(world, run);
  if (run.current + 1 == run.stations.size()) return;
  ++run.current;
  make_ready(world, run, position);
}

void evolve(World& world, Run& run, const Record& record, const StationSucceeded&) {
  end_attempt(world, run);
  advance(world, run, record.position);
}
bool is_approval(const Run& run) { return run.definition().executor == ExecutorKind::approval; }

void evolve(World& world, Run& run, const Record& record, const StationHeld& event) {
  SIGNALBOX_CHECK((event.reason == WaitReason::approval) == is_approval(run));
  make_unready(world, run);
  run.asked_at = record.position;
  run.station().waiting = event.reason;
  run.station().waiting_until_ns = 0;
}
// Only a person's decision ends the wait for an approval.
void evolve(World& world, Run& run, const Record& record, const StationApproved&) {
  SIGNALBOX_CHECK(run.station().waiting == WaitReason::approval);
  advance(world, run, record.position);
}
void evolve(World&, Run& run, const Record&, const StationRejected& event) {
  SIGNALBOX_CHECK(run.station().waiting == WaitReason::approval);
  run.previous = previous_text(
      {Outcome::failed, ErrorClass::terminal, std::string(rejected_code), event.reason}, {});
}

void evolve(World&, Run& run, const Record& record, const StationApprovalRequested&) {
  run.asked_at = record.position;
  run.station().waiting = WaitReason::approval;
  run.station().waiting_until_ns = 0;
  run.attempt->stalls = 0;  // whoever asks has got somewhere
}
void evolve(World&, Run& run, const Record&, const StationApprovalGiven&) {
  SIGNALBOX_CHECK(run.station().waiting == WaitReason::approval);
}
// The ref is kept for the card of the run, or for another attempt after a rejection and a retry.
void evolve(World& world, Run& run, const Record&, const StationResultHeld& event) {
  SIGNALBOX_CHECK(run.station().waiting == WaitReason::approval);
  run.resume_ref = event.result.external_ref;
  end_attempt(world, run);
}

// Returns the external ref from which the next attempt may resume. An attempt that failed at its
// work leaves nothing worth resuming.
std::string resume_ref_after(const Run& run, ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::transient:
    case ErrorClass::lost:
    case ErrorClass::quota:
      return run.attempt->external_ref;
    case ErrorClass::config:
    case ErrorClass::terminal:
      return {};
  }
  return {};
}

// Keeps what the next attempt gets of a failed one, also after a retry of the run.
void fail_attempt(World& world, Run& run, const Failure& failure, const AttemptResult& result) {
  run.resume_ref = resume_ref_after(run, failure.error_class);
  run.previous = previous_text(failure, result);
  ++run.station().failures;
  end_attempt(world, run);
}

void evolve(World& world, Run& run, const Record&, const StationAttemptFailed& event) {
  StationState& station = run.station();
  fail_attempt(world, run, event.failure, event.result);
  station.waiting = WaitReason::backoff;
  station.waiting_until_ns = event.retry_at_ns;
  const auto& strategies = run.definition().retry.strategies;
  const auto next =
      std::find(strategies.begin() + station.strategy_index, strategies.end(), event.next_strategy);
  SIGNALBOX_CHECK(next != strategies.end());
  station.strategy_index = static_cast<std::uint8_t>(next - strategies.begin());
}

void evolve(World& world, Run& run, const Record&, const StationFailed& event) {
  fail_attempt(world, run, event.failure, event.result);
}
void evolve(World& world, Run& run, const Record&, const StationTimedOut& event) {
  fail_attempt(world, run, event.failure, event.result);
}

void evolve(World& world, Run& run, const Record&, const StationDeferred& event) {
  // A stalled station has an attempt; a deferred one hasn't.
  SIGNALBOX_CHECK(event.reason != WaitReason::stalled);
  run.resume_ref = run.attempt->external_ref;
  end_attempt(world, run);
  run.station().waiting = event.reason;
  run.station().waiting_until_ns = event.until_ns;
  if (!event.note.empty()) run.previous = event.note;
}

void evolve(World& world, Run& run, const Record& record, const StationReady&) {
  SIGNALBOX_CHECK(run.station().waiting != WaitReason::approval);
  run.station().waiting_until_ns = 0;
  make_ready(world, run, record.position);
}

void evolve(World& world, Run& run, const Record&, const StationCanceled&) {
  make_unready(world, run);
  end_attempt(world, run);
}

}  // namespace

// Moves the statuses of the current station and of the run according to the tables, then applies
// the event itself.
void evolve_noun(World& world, const Record& record, const StationEvent& noun) {
  Run* run = world.find_run(record.stream.run_id);
  SIGNALBOX_CHECK(run != nullptr);
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  note_record(*run, record.position, number == StationHeartbeat::tag.number ? 0 : 1);
  const auto next_of_station = next_status(run->station().status, number);
  SIGNALBOX_CHECK(next_of_station.has_value());
  SIGNALBOX_CHECK(may_happen(number, run->attempt.has_value()));
  run->station().status = *next_of_station;
  if (const auto next = next_status(run->status, number)) run->status = *next;
  std::visit([&](const auto& event) { evolve(world, *run, record, event); }, noun);
  // A question is open as long as its station waits for it, however the wait ends. No event of a
  // station removes the run from the world.
  if (!waits_for_decision(*run)) run->asked_at = 0;
}

}  // namespace signalbox
