// How the events of runs and their stations change the world.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/pipeline.h"
#include "domain/placement.h"
#include "domain/run_retry.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

// Makes the current station claimable, unless the run is paused or the station waits for a person.
void make_ready(World& world, Run& run, Position position) {
  if (run.status == RunStatus::paused) return;
  if (held_at_turn(run.definition(), run.budget, run.used)) return;
  run.station().ready_at = position;
  const ReadyQueue queue = ready_queue_of(run);
  world.ready.insert(queue.executor, queue.name, position, run.id);
}

void make_unready(World& world, Run& run) {
  Position& ready_at = run.station().ready_at;
  if (ready_at == 0) return;
  const ReadyQueue queue = ready_queue_of(run);
  world.ready.erase(queue.executor, queue.name, ready_at, run.id);
  ready_at = 0;
}

// Gives a deep_work station a plan with its first attempt. The plan outlasts the attempts.
void begin_plan(World& world, Run& run) {
  if (run.definition().executor != ExecutorKind::deep_work || run.plan) return;
  run.plan.emplace();
  world.planned.insert(run.id);
}

void end_plan(World& world, Run& run) {
  if (!run.plan) return;
  for (const StepState& step : run.plan->steps) world.holders.erase(step.token);
  run.plan.reset();
  world.planned.erase(run.id);
}

void end_attempt(World& world, Run& run) {
  if (!run.attempt) return;
  if (run.attempt->lock_token != 0) forget_dependent(world, run.attempt->lock_token, run.id);
  world.holders.erase(run.attempt->token);
  run.attempt.reset();
}

void forget_oldest_idle_pipeline(World& world) {
  std::size_t idle = 0;
  auto oldest = world.pipelines.end();
  for (auto place = world.pipelines.begin(); place != world.pipelines.end(); ++place) {
    if (place->second.idle_since == 0) continue;
    ++idle;
    if (oldest == world.pipelines.end() || place->second.idle_since < oldest->second.idle_since) {
      oldest = place;
    }
  }
  if (idle > limits::idle_pipelines_max) world.pipelines.erase(oldest);
}

void forget_key(World& world, const RunId& id, const EndedRun& ended) {
  if (ended.idempotency_key.empty()) return;
  world.forgotten_keys = ended.ended_at;
  const auto place = world.run_by_idempotency_key.find(ended.idempotency_key);
  if (place != world.run_by_idempotency_key.end() && place->second == id) {
    world.run_by_idempotency_key.erase(place);
  }
}

// Replaces a terminal run by an EndedRun, which has what later commands about it need.
void end_run(World& world, Run& run, const Record& record) {
  SIGNALBOX_CHECK(!run.attempt.has_value());
  end_plan(world, run);
  PinnedPipeline& pinned = world.pipelines.find(run.pipeline_digest)->second;
  if (--pinned.open_runs == 0) {
    pinned.idle_since = record.position;
    forget_oldest_idle_pipeline(world);
  }
  world.ended_runs.put(
      run.id,
      EndedRun{run.status, run.idempotency_key, run.request_digest, record.position,
               record.recorded_at_ns},
      [&](const RunId& id, const EndedRun& forgotten) { forget_key(world, id, forgotten); });
  world.run_roots.erase(run);
  const RunId id = run.id;
  world.runs.erase(id);
}

// Returns the definition of a run that opens and counts the run as its user. `given` is stored if
// the world doesn't hold the definition.
std::shared_ptr<const PipelineDefinition> pin_pipeline(
    World& world, const Digest& digest, const std::optional<PipelineDefinition>& given) {
  auto pinned = world.pipelines.find(digest);
  if (pinned == world.pipelines.end()) {
    SIGNALBOX_CHECK(given.has_value());
    pinned = world.pipelines
                 .emplace(digest, PinnedPipeline{std::make_shared<PipelineDefinition>(*given)})
                 .first;
  }
  ++pinned->second.open_runs;
  pinned->second.idle_since = 0;
  return pinned->second.definition;
}

void open_run(World& world, std::unique_ptr<Run> run, Position position) {
  if (!run->idempotency_key.empty()) {
    world.run_by_idempotency_key.insert_or_assign(run->idempotency_key, run->id);
  }
  Run& placed = *run;
  world.run_roots.insert(placed);
  SIGNALBOX_CHECK(world.runs.emplace(placed.id, std::move(run)).second);
  make_ready(world, placed, position);
}

void start_run(World& world, const Record& record, const RunStarted& event) {
  auto run = std::make_unique<Run>();
  run->id = record.stream.run_id;
  run->started_at = record.position;
  run->changed_at = record.position;
  run->goal = event.goal;
  run->input = event.input;
  run->run_root = event.run_root;
  run->repository = event.repository;
  run->base = event.base;
  run->budget = event.budget;
  run->max_retries = event.max_retries;
  run->idempotency_key = event.idempotency_key;
  run->request_digest = event.request_digest;
  run->pipeline_digest = event.pipeline_digest;
  run->pipeline = pin_pipeline(world, event.pipeline_digest, event.pipeline);
  run->stations.resize(run->pipeline->stations.size());
  open_run(world, std::move(run), record.position);
}

void retry_run(World& world, const Record& record, const RunRetried& event) {
  const RunId& id = record.stream.run_id;
  if (const EndedRun* ended = world.ended_runs.find(id)) {
    SIGNALBOX_CHECK(next_status(ended->status, event.tag.number) == RunStatus::running);
  }
  world.ended_runs.erase(id);
  open_run(world,
           retried_run(record, event, pin_pipeline(world, event.pipeline_digest, event.pipeline)),
           record.position);
  Run& run = *world.find_run(id);
  if (run.station().attempts > 0) begin_plan(world, run);
}

template <class Event>
concept EndOfRun = std::is_same_v<Event, RunSucceeded> || std::is_same_v<Event, RunFailed> ||
    std::is_same_v<Event, RunCanceled>;
void evolve(World& world, Run& run, const Record& record, const EndOfRun auto&) {
  end_run(world, run, record);
}
void evolve(World&, Run& run, const Record&, const RunCancelRequested& event) {
  run.cancel_requested = true;
  run.cancel_reason = event.reason;
  if (event.rejects && run.attempt) run.attempt->ending = true;
}

void evolve(World& world, Run& run, const Record&, const RunPaused&) { make_unready(world, run); }
void evolve(World& world, Run& run, const Record& record, const RunResumed&) {
  if (run.station().status == StationStatus::pending) make_ready(world, run, record.position);
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
void evolve(World& world, Run& run, const Record&, const LateUsageReported& event) {
  run.used = run.used + event.usage;
  if (held_at_turn(run.definition(), run.budget, run.used)) make_unready(world, run);
}
void evolve(World&, Run& run, const Record&, const RunBudgetRaised& event) {
  run.budget = event.budget;
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

// Moves the statuses of the current station and of the run according to the tables, then applies
// the event itself.
template <class Noun>
void evolve_run(World& world, const Record& record, const Noun& noun) {
  Run* run = world.find_run(record.stream.run_id);
  SIGNALBOX_CHECK(run != nullptr);
  run->changed_at = record.position;
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  constexpr bool is_station_event = std::is_same_v<Noun, StationEvent>;
  if constexpr (is_station_event) {
    const auto next = next_status(run->station().status, number);
    SIGNALBOX_CHECK(next.has_value());
    SIGNALBOX_CHECK(may_happen(number, run->attempt.has_value()));
    run->station().status = *next;
  }
  const auto next = next_status(run->status, number);
  SIGNALBOX_CHECK(next.has_value() || is_station_event);
  if (next) run->status = *next;
  std::visit(
      [&](const auto& event) {
        using One = std::remove_cvref_t<decltype(event)>;
        if constexpr (!std::is_same_v<One, RunStarted> && !std::is_same_v<One, RunRetried>) {
          evolve(world, *run, record, event);
        }
      },
      noun);
  // A question is open as long as its station waits for it, however the wait ends. No event of a
  // station removes the run from the world.
  if constexpr (is_station_event) {
    if (!waits_for_decision(*run)) run->asked_at = 0;
  }
}

}  // namespace

void evolve_noun(World& world, const Record& record, const RunEvent& noun) {
  if (const auto* started = std::get_if<RunStarted>(&noun))
    return start_run(world, record, *started);
  if (const auto* retried = std::get_if<RunRetried>(&noun))
    return retry_run(world, record, *retried);
  const bool is_late = std::holds_alternative<LateUsageReported>(noun);
  if (is_late) world.late_usage.note(record.stream.run_id, record.position);
  // Of a run that has ended, its records alone have the figures.
  if (is_late && world.find_run(record.stream.run_id) == nullptr) return;
  evolve_run(world, record, noun);
}
void evolve_noun(World& world, const Record& record, const StationEvent& noun) {
  evolve_run(world, record, noun);
}

}  // namespace signalbox
