// Decisions about a run as a whole: start, cancel, pause, resume. run_retry.cc decides the retry of
// a failed run.
#include <algorithm>
#include <iterator>

#include "domain/attempt_end.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/run_retry.h"
#include "domain/run_roots.h"
#include "domain/station_turn.h"
#include "domain/try.h"

namespace signalbox {
namespace {

Decided<void> validate(const StartRun& command) {
  const auto text = [](const char* field, const std::optional<std::string>& value,
                       std::size_t bytes_max) -> Decided<void> {
    return value ? require_at_most(field, *value, bytes_max) : Decided<void>{};
  };
  TRY(require_name("goal", command.goal, limits::goal_bytes_max));
  TRY(text("input", command.input, limits::input_bytes_max));
  TRY(text("project", command.project, limits::name_bytes_max));
  TRY(text("idempotency_key", command.idempotency_key, limits::name_bytes_max));
  TRY(text("base", command.base, limits::name_bytes_max));
  TRY(require_absolute("run_root", command.run_root));
  TRY(require_absolute("repository", command.repository));
  // An empty one is none.
  if (!command.base.value_or("").empty()) TRY(require_base(*command.base, "a commit or a branch"));
  if (command.labels.size() > limits::labels_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many labels",
                  {{"labels", static_cast<std::int64_t>(command.labels.size())},
                   {"labels_max", static_cast<std::int64_t>(limits::labels_max)}});
  }
  if (command.budget) {
    TRY(validate(*command.budget));
  }
  TRY(require_between("max_retries", command.max_retries.value_or(0), 0, limits::retries_max));
  for (const auto& [key, value] : command.labels) {
    TRY(require_name("labels", key, limits::label_bytes_max));
    TRY(require_at_most("labels", value, limits::label_bytes_max));
    if (key.find_first_of("=\n") != std::string::npos) {
      return reject(ErrorCode::INVALID_PARAMS, "a label's name has no '=' and no line break",
                    {{"label", key}});
    }
  }
  return {};
}

bool waits_for(const Run& run, WaitReason reason) {
  return run.station().status == StationStatus::waiting && run.station().waiting == reason &&
         !run.attempt;
}

std::string resume_command(const Run& run, const std::string& flags) {
  return "signalbox run resume " + to_string(run.id) + " " + flags;
}

// Returns what keeps `decision` from being about the question that is open, or nullopt.
std::optional<std::string> other_question(const Run& run, const ResumeRun& decision) {
  const std::string station = "station " + run.definition().name;
  if (decision.station && *decision.station != run.definition().name) {
    return station + " is current, not " + *decision.station;
  }
  if (!waits_for_decision(run)) return station + " waits for no decision";
  if (decision.asked && *decision.asked != run.asked_at) {
    return "the open question of " + station + " is that of position " +
           std::to_string(run.asked_at) + ", not that of position " +
           std::to_string(*decision.asked);
  }
  return std::nullopt;
}

// Checks that the current station waits for a decision, and that this is one about it and about its
// question. Since the person looked, the run may have reached another approval, or a later attempt
// may have asked something else, which nobody saw.
Decided<void> require_asking(const Run& run, const ResumeRun& decision) {
  const auto obstacle = other_question(run, decision);
  if (!obstacle) return {};
  const std::string& station = run.definition().name;
  std::vector<Detail> details{{"run_id", to_string(run.id)},
                              {"station", station},
                              {"station_status", std::string(name_of(run.station().status))}};
  if (decision.station && *decision.station != station) {
    details.push_back({"decided_station", *decision.station});
  }
  if (run.asked_at != 0) details.push_back({"asked", static_cast<std::int64_t>(run.asked_at)});
  if (decision.asked) {
    details.push_back({"decided_asked", static_cast<std::int64_t>(*decision.asked)});
  }
  // The first command shows the question that is open, and those after it decide that one.
  std::vector<std::string> next_commands{"signalbox run why " + to_string(run.id)};
  if (waits_for_decision(run)) {
    auto decisions = decision_commands(run);
    std::move(decisions.begin(), decisions.end(), std::back_inserter(next_commands));
  }
  return reject(ErrorCode::NOT_WAITING_FOR_APPROVAL, *obstacle, std::move(details),
                std::move(next_commands));
}

std::string rejection_text(const std::string& reason) {
  return reason.empty() ? "the approval was refused" : reason;
}

Decided<void> add_decision(const Run& run, const ResumeRun& command, const std::string& reason,
                           NewEvents& events) {
  const std::string& station = run.definition().name;
  if (!command.decision) {
    if (!waits_for_decision(run) || run.status == RunStatus::paused) return {};
    return reject(ErrorCode::DECISION_REQUIRED, "station " + station + " waits for a decision",
                  {{"run_id", to_string(run.id)}, {"station", station}}, decision_commands(run));
  }
  TRY(require_asking(run, command));
  const Stream stream = Stream::run(run.id);
  // The question is the cause of its decision: so the log says which one was answered.
  switch (*command.decision) {
    case Decision::approve:
      if (run.attempt) {
        events.push_back(
            {stream, run.attempt->span_id, run.asked_at,
             StationEvent{StationApprovalGiven{station, run.attempt->number, reason}}});
        return {};
      }
      events.push_back({stream, {}, run.asked_at, StationEvent{StationApproved{station, reason}}});
      for (NewEvent& event : after_success(run, run.used, 0)) events.push_back(std::move(event));
      return {};
    case Decision::reject:
      events.push_back({stream, {}, run.asked_at, StationEvent{StationRejected{station, reason}}});
      events.push_back({stream,
                        {},
                        0,
                        RunEvent{RunFailed{station, ErrorClass::terminal,
                                           std::string(rejected_code), rejection_text(reason)}}});
      return {};
  }
  return {};
}

// Adds the raised budget, and StationReady for a station that waited for it.
Decided<void> add_budget(const Run& run, const std::optional<Budget>& budget,
                         const std::string& reason, NewEvents& events) {
  const bool held = waits_for(run, WaitReason::budget);
  if (!budget && (!held || run.status == RunStatus::paused)) return {};
  const std::string& station = run.definition().name;
  if (const auto figure = exhausted(budget.value_or(run.budget), run.used)) {
    return reject(ErrorCode::BUDGET_EXHAUSTED,
                  "the run has used up this budget of " + *figure + " already",
                  {{"run_id", to_string(run.id)},
                   {"station", station},
                   {"used_cost_microusd", run.used.cost_microusd},
                   {"used_tokens", run.used.tokens},
                   {"used_turns", run.used.turns}},
                  {resume_command(run, raised_budget_flags(budget.value_or(run.budget), run.used)),
                   "signalbox run cancel " + to_string(run.id)});
  }
  const Stream stream = Stream::run(run.id);
  if (budget && *budget != run.budget) {
    events.push_back({stream, {}, 0, RunEvent{RunBudgetRaised{*budget, reason}}});
  }
  if (held) events.push_back({stream, {}, 0, StationEvent{StationReady{station}}});
  return {};
}

// Returns whether the command rejects what an attempt under way asked for.
bool rejects_attempt(const Run& run, const ResumeRun& command) {
  return command.decision == Decision::reject && asks_approval(run);
}

// Returns the events that fail the run because of a rejected approval, and end its attempt with it.
NewEvents end_rejected(const Run& run, const std::string& reason, const Now& now) {
  return end_attempt(
      run,
      {Outcome::failed, ErrorClass::terminal, std::string(rejected_code), rejection_text(reason)},
      {}, now, Retrying::never);
}

// Returns the events that reject what the attempt under way asked for. A job has to be ended before
// its run fails; an outside worker learns of the end with its next request.
NewEvents reject_attempt(const Run& run, const std::string& reason, const Now& now) {
  if (run.cancel_requested) return {};
  NewEvents events{{Stream::run(run.id), run.attempt->span_id, 0,
                    RunEvent{RunCancelRequested{reason, /*rejects=*/true}}}};
  if (!run.attempt->job_id.empty()) return events;
  NewEvents end = end_rejected(run, reason, now);
  std::move(end.begin(), end.end(), std::back_inserter(events));
  return events;
}

// NOT_WAITING_FOR_APPROVAL if the decision approves what an attempt asked for that is being ended:
// it was rejected, or its run is canceled.
Decided<void> require_going_on(const Run& run, const ResumeRun& command) {
  if (command.decision != Decision::approve || !run.cancel_requested) return {};
  const std::string& station = run.definition().name;
  return reject(ErrorCode::NOT_WAITING_FOR_APPROVAL,
                is_rejected(run) ? "what station " + station + " asked for was rejected already"
                                 : "the run is being canceled",
                {{"run_id", to_string(run.id)},
                 {"station", station},
                 {"station_status", std::string(name_of(run.station().status))}},
                {"signalbox run why " + to_string(run.id)});
}

bool ended_by(const NewEvents& events) {
  return !events.empty() && (event_as<RunSucceeded>(events.back().event) != nullptr ||
                             event_as<RunFailed>(events.back().event) != nullptr);
}

Decided<void> same_request(const StartRun& command, const RunId& run_id, const Digest& first) {
  if (first == command.request_digest) return {};
  return reject(ErrorCode::IDEMPOTENCY_CONFLICT,
                "the idempotency key stands for another request: run " + to_string(run_id),
                {{"idempotency_key", *command.idempotency_key}, {"run_id", to_string(run_id)}},
                {"signalbox run get " + to_string(run_id)});
}

// RUN_ROOT_TAKEN also for the directory of a run that has ended, since it may be retried.
Decided<void> require_own_root(const World& world, const StartRun& command) {
  if (!command.run_root) return {};
  if (!command.directory_of) return require_free_root(world, *command.run_root);
  const std::string id = to_string(*command.directory_of);
  return reject(ErrorCode::RUN_ROOT_TAKEN,
                "run_root " + *command.run_root + " is the directory of run " + id +
                    " among the service's own: name another one, or none",
                {{"run_root", *command.run_root}, {"run_id", id}}, {"signalbox run list"});
}

}  // namespace

Decided<NewEvents> decide(const World& world, const StartRun& command, const Now&) {
  TRY(validate(command));
  if (command.pipeline) {
    TRY(validate(*command.pipeline));
  }
  if (command.idempotency_key) {
    const auto known = world.run_by_idempotency_key.find(*command.idempotency_key);
    if (known != world.run_by_idempotency_key.end()) {
      const RunId& id = known->second;
      const Run* run = world.find_run(id);
      const Digest& first =
          run != nullptr ? run->request_digest : world.ended_runs.find(id)->request_digest;
      TRY(same_request(command, id, first));
      return NewEvents{};
    }
  }
  TRY(require_own_root(world, command));
  RunStarted started;
  started.goal = command.goal;
  started.input = command.input.value_or("");
  started.project = command.project.value_or("");
  started.labels = command.labels;
  started.idempotency_key = command.idempotency_key.value_or("");
  started.request_digest = command.request_digest;
  started.pipeline_digest = command.pipeline_digest;
  const auto pinned = world.pipelines.find(command.pipeline_digest);
  if (pinned == world.pipelines.end()) {
    started.pipeline = command.pipeline ? *command.pipeline : default_pipeline();
  }
  const PipelineDefinition& pipeline =
      started.pipeline ? *started.pipeline : *pinned->second.definition;
  started.budget = command.budget.value_or(pipeline.budget);
  started.max_retries = command.max_retries;
  started.run_root = command.run_root.value_or("");
  started.repository = command.repository.value_or("");
  started.base = command.base.value_or("");
  const auto held = held_at_turn(pipeline.stations.front(), started.budget, {});
  const Stream stream = Stream::run(command.run_id);
  NewEvents events{{stream, {}, 0, RunEvent{std::move(started)}}};
  if (held) events.push_back({stream, {}, 0, StationEvent{*held}});
  return events;
}

Decided<NewEvents> decide(const World& world, const CancelRun& command, const Now&) {
  const auto found = TRY(open_run(world, command.run_id));
  const Run& run = *found;
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  // A rejection that is ending the job is taken back by it: what is canceled isn't tried again.
  if (run.cancel_requested && !is_rejected(run)) return NewEvents{};

  const Stream stream = Stream::run(run.id);
  // A job that was submitted, or may have been, has to be ended first. An outside worker learns of
  // the end with its next request: its token is stale from here on.
  if (run.attempt && !run.attempt->job_id.empty()) {
    return NewEvents{
        {stream, run.attempt->span_id, 0, RunEvent{RunCancelRequested{reason, false}}}};
  }
  const Uuid span = run.attempt ? run.attempt->span_id : Uuid{};
  return NewEvents{{stream, span, 0, StationEvent{StationCanceled{run.definition().name}}},
                   {stream, {}, 0, RunEvent{RunCanceled{reason}}}};
}

Decided<NewEvents> decide(const World& world, const ConfirmCancel& command, const Now& now) {
  const Run* run = world.find_run(command.run_id);
  if (run == nullptr || !run->cancel_requested) return NewEvents{};
  if (!run->attempt || run->attempt->token != command.token) return NewEvents{};
  const Stream stream = Stream::run(run->id);
  const Attempt& attempt = *run->attempt;
  const std::string& station = run->definition().name;
  NewEvents events = usage_report(*run, command.usage);
  if (command.escaped_pids.empty() && !command.unconfirmed) {
    events.push_back({stream, attempt.span_id, attempt.token,
                      StationEvent{CancelConfirmed{station, attempt.job_id}}});
  } else {
    // A job may have left any number of processes, or say so.
    std::vector<std::int32_t> pids = command.escaped_pids;
    pids.resize(std::min(pids.size(), limits::escaped_pids_max));
    events.push_back({stream, attempt.span_id, attempt.token,
                      StationEvent{CancelEscaped{station, attempt.job_id, std::move(pids)}}});
  }
  if (is_rejected(*run)) {
    NewEvents end = end_rejected(*run, run->cancel_reason, now);
    std::move(end.begin(), end.end(), std::back_inserter(events));
    return events;
  }
  events.push_back(
      {stream, attempt.span_id, attempt.token, StationEvent{StationCanceled{station}}});
  events.push_back({stream, {}, attempt.token, RunEvent{RunCanceled{run->cancel_reason}}});
  return events;
}

Decided<NewEvents> decide(const World& world, const NoteLateUsage& command, const Now&) {
  TRY(validate(command.usage));
  if (command.usage == Usage{}) return NewEvents{};
  if (may_lack_usage(world, command.run_id, command.read_at)) {
    return tl::unexpected(usage_outdated(command.run_id));
  }
  const Run* run = world.find_run(command.run_id);
  if (run != nullptr && run->attempt && run->attempt->token == command.token) return NewEvents{};
  const Stream stream = Stream::run(command.run_id);
  NewEvents events{{stream, command.span_id, command.token,
                    RunEvent{LateUsageReported{command.station, command.attempt, command.usage}}}};
  if (run == nullptr || run->station().status != StationStatus::pending) return events;
  // One that waits for a time is held at the end of that.
  if (const auto held = held_at_turn(run->definition(), run->budget, run->used + command.usage)) {
    events.push_back({stream, {}, 0, StationEvent{*held}});
  }
  return events;
}

Decided<NewEvents> decide(const World& world, const PauseRun& command, const Now&) {
  const auto found = TRY(open_run(world, command.run_id));
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  if (found->status == RunStatus::paused) return NewEvents{};
  return NewEvents{{Stream::run(command.run_id), {}, 0, RunEvent{RunPaused{reason}}}};
}

Decided<NewEvents> decide(const World& world, const ResumeRun& command, const Now& now) {
  const auto found = TRY(open_run(world, command.run_id));
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  if (command.budget) {
    TRY(validate(*command.budget));
  }
  if (command.station) {
    TRY(require_not_empty("station", *command.station, limits::name_bytes_max));
    if (!command.decision) {
      return reject(ErrorCode::INVALID_PARAMS, "a station is named with a decision about it",
                    {{"field", std::string("station")}, {"value", *command.station}});
    }
  }
  if (command.asked && !command.decision) {
    return reject(
        ErrorCode::INVALID_PARAMS, "a question is named with its decision",
        {{"field", std::string("asked")}, {"value", static_cast<std::int64_t>(*command.asked)}});
  }
  // The budget comes first: the decision may end the run, or advance it to a station that the old
  // budget would hold.
  Run run = *found;
  TRY(require_going_on(run, command));
  NewEvents events;
  TRY(add_budget(run, command.budget, reason, events));
  run.budget = command.budget.value_or(run.budget);
  if (rejects_attempt(run, command)) {
    TRY(require_asking(run, command));
    NewEvents end = reject_attempt(run, reason, now);
    if (!end.empty()) end.front().cause = run.asked_at;
    std::move(end.begin(), end.end(), std::back_inserter(events));
    return events;
  }
  TRY(add_decision(run, command, reason, events));
  if (run.status == RunStatus::paused && !ended_by(events)) {
    events.push_back({Stream::run(run.id), {}, 0, RunEvent{RunResumed{reason}}});
  }
  // Whoever has mended what an attempt failed for needn't wait for the next one. Also of a run that
  // was paused, or has a larger budget now: the same command, given once more, changes nothing.
  if (!command.decision) {
    NewEvents ready = end_of_wait(run);
    std::move(ready.begin(), ready.end(), std::back_inserter(events));
  }
  return events;
}

}  // namespace signalbox
