#include "domain/run_retry.h"

#include <algorithm>
#include <utility>

#include "domain/attempt_end.h"
#include "domain/check.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/run_roots.h"
#include "domain/station_turn.h"
#include "domain/try.h"

namespace signalbox {
namespace {

RunRetried run_retried_of(const Run& failed) {
  RunRetried event;
  event.station = failed.definition().name;
  event.started_at = failed.started_at;
  event.goal = failed.goal;
  event.input = failed.input;
  event.idempotency_key = failed.idempotency_key;
  event.request_digest = failed.request_digest;
  event.pipeline_digest = failed.pipeline_digest;
  event.run_root = failed.run_root;
  event.repository = failed.repository;
  event.base = failed.base;
  event.budget = failed.budget;
  event.used = failed.used;
  event.max_retries = failed.max_retries;
  event.resume_ref = failed.resume_ref;
  event.previous = failed.previous;
  event.machine = failed.machine;
  for (const StationState& station : failed.stations) event.attempts.push_back(station.attempts);
  return event;
}

// Returns whether a person rejected what the run did. Its state says so only in the text for the
// next attempt.
bool was_rejected(const Run& failed) {
  const std::string& previous = failed.previous;
  return previous.substr(0, previous.find_first_of(":\n")) == rejected_code;
}

// The steps may be of several plans, each of which fits into a record. Nobody does the completed
// ones again, so what they were is left out if it has no room.
void shorten_to_record(std::vector<RestoredStep>& steps) {
  std::vector<StepDefinition> definitions;
  for (const RestoredStep& step : steps) definitions.push_back(step.definition);
  if (fits_into_record(definitions)) return;
  for (RestoredStep& step : steps) {
    if (!step.completed) continue;
    step.definition.description = "completed before the retry";
    step.definition.dependencies.clear();
  }
}

// Appends the events that restore the exploration and the plan of a deep_work station. A plan whose
// result was rejected isn't restored: with every step completed, the next attempt would pass the
// rejected work on without doing any. The station plans anew instead.
void add_plan(const Run& failed, NewEvents& events) {
  if (!failed.plan || failed.plan->status == PlanStatus::exploring) return;
  const Plan& plan = *failed.plan;
  const Stream stream = Stream::run(failed.id);
  const std::string& station = failed.definition().name;
  events.push_back({stream, {}, 0, PlanEvent{ExplorationFinished{station, plan.exploration}}});
  if (plan.steps.empty()) return;
  if (was_rejected(failed) && todo_status(plan).all_complete) return;
  PlanRestored restored{station, {}, plan.cut};
  for (const StepState& step : plan.steps) {
    restored.steps.push_back(
        {step.definition, step.attempts, step.status == StepStatus::completed});
  }
  shorten_to_record(restored.steps);
  events.push_back({stream, {}, 0, PlanEvent{std::move(restored)}});
  // The plan was reset: its steps belong to an earlier plan, and the next one is still to be set.
  if (plan.status == PlanStatus::planning) {
    events.push_back({stream, {}, 0, PlanEvent{PlanReset{station, "as before the retry"}}});
  }
}

Decided<void> validate(const RetryRun& command) {
  TRY(require_at_most("reason", command.reason.value_or(""), limits::reason_bytes_max));
  return require_between("max_retries", command.max_retries.value_or(0), 0, limits::retries_max);
}

// Whoever has seen an earlier failure doesn't know what the run failed with since.
Rejection failed_anew(const RetryRun& command) {
  const std::string text = to_string(command.run_id);
  return {ErrorCode::RUN_NOT_FAILED,
          "run " + text + " was retried meanwhile and has failed anew, at " +
              std::to_string(command.failed_at),
          {{"run_id", text},
           {"status", std::string(name_of(RunStatus::failed))},
           {"failed_position", static_cast<std::int64_t>(command.failed_at)}},
          {"signalbox run get " + text}};
}

// Returns the run to retry. RUN_NOT_FAILED, RUN_NOT_FOUND.
Decided<const Run*> failed_run(const World& world, const RetryRun& command) {
  if (const Run* open = world.find_run(command.run_id)) {
    return tl::unexpected(run_not_failed(open->id, open->status));
  }
  const EndedRun* ended = world.ended_runs.find(command.run_id);
  if (ended != nullptr && ended->status != RunStatus::failed) {
    return tl::unexpected(run_not_failed(command.run_id, ended->status));
  }
  if (command.failed == nullptr) return open_run(world, command.run_id);  // RUN_NOT_FOUND
  // The run was retried and failed again after its records were read.
  if (ended != nullptr && ended->ended_at != command.failed_at) {
    return tl::unexpected(run_not_failed(command.run_id, RunStatus::running));
  }
  if (command.failed_at > command.failed_position.value_or(command.failed_at)) {
    return tl::unexpected(failed_anew(command));
  }
  return command.failed.get();
}

Decided<Strategy> first_strategy(const Run& run, const std::optional<Strategy>& wanted) {
  const std::vector<Strategy>& strategies = run.definition().retry.strategies;
  if (!wanted) return strategies.front();
  if (std::find(strategies.begin(), strategies.end(), *wanted) != strategies.end()) return *wanted;
  std::vector<std::string> names;
  std::string listed;
  for (const Strategy each : strategies) {
    names.emplace_back(name_of(each));
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  return reject(ErrorCode::INVALID_PARAMS,
                "strategy must be one of those of station " + run.definition().name + ": " + listed,
                {{"field", std::string("strategy")},
                 {"value", std::string(name_of(*wanted))},
                 {"strategies", names}},
                {"signalbox run retry " + to_string(run.id)});
}

}  // namespace

Rejection run_is_of_card(const RunId& id, const CardId& card_id, CardStatus status) {
  const std::string card = to_string(card_id);
  Rejection rejection{
      ErrorCode::CARD_BUSY,
      "run " + to_string(id) + " is of card " + card +
          ": the card is tried again, and not one of its runs beside it",
      {{"run_id", to_string(id)}, {"card_id", card}, {"status", std::string(name_of(status))}},
      {"signalbox card get " + card}};
  if (status == CardStatus::blocked || status == CardStatus::failed) {
    rejection.next_commands.insert(rejection.next_commands.begin(),
                                   "signalbox card unblock " + card);
  }
  return rejection;
}

Rejection run_not_failed(const RunId& id, RunStatus status) {
  const std::string text = to_string(id);
  Rejection rejection{ErrorCode::RUN_NOT_FAILED,
                      "run " + text + " hasn't failed: its status is " + name_of(status),
                      {{"run_id", text}, {"status", std::string(name_of(status))}},
                      {"signalbox run get " + text}};
  if (!is_terminal(status)) rejection.next_commands = {"signalbox run why " + text};
  return rejection;
}

bool may_lack_usage(const World& world, const RunId& run_id, Position read_at) {
  if (world.late_usage.is_newer(run_id, read_at)) return true;
  if (const Run* run = world.find_run(run_id)) return run->changed_at > read_at;
  const EndedRun* const ended = world.ended_runs.find(run_id);
  return ended != nullptr && ended->ended_at > read_at;
}

Rejection usage_outdated(const RunId& run_id) {
  return {ErrorCode::OVERLOADED,
          "what an attempt has used up was recorded a moment ago: repeat the command",
          {{"run_id", to_string(run_id)}},
          {"signalbox run get " + to_string(run_id)}};
}

Decided<void> require_latest_usage(const World& world, const RunId& run_id, Position read_at) {
  if (!world.late_usage.is_newer(run_id, read_at)) return {};
  return tl::unexpected(usage_outdated(run_id));
}

std::unique_ptr<Run> retried_run(const Record& record, const RunRetried& event,
                                 std::shared_ptr<const PipelineDefinition> pipeline) {
  auto run = std::make_unique<Run>();
  run->id = record.stream.run_id;
  run->status = RunStatus::running;
  run->started_at = event.started_at;
  run->changed_at = record.position;
  run->goal = event.goal;
  run->input = event.input;
  run->run_root = event.run_root;
  run->repository = event.repository;
  run->base = event.base;
  run->idempotency_key = event.idempotency_key;
  run->request_digest = event.request_digest;
  run->pipeline_digest = event.pipeline_digest;
  run->budget = event.budget;
  run->used = event.used;
  run->max_retries = event.max_retries;
  run->resume_ref = event.resume_ref;
  run->previous = event.previous;
  run->machine = event.machine;
  run->pipeline = std::move(pipeline);
  run->stations.resize(run->pipeline->stations.size());
  const auto current = run->find_station(event.station);
  SIGNALBOX_CHECK(current && event.attempts.size() == run->stations.size());
  run->current = *current;
  for (std::uint32_t index = 0; index <= run->current; ++index) {
    run->stations[index].attempts = event.attempts[index];
    if (index < run->current) run->stations[index].status = StationStatus::succeeded;
  }
  const auto& strategies = run->definition().retry.strategies;
  const auto strategy = std::find(strategies.begin(), strategies.end(), event.strategy);
  SIGNALBOX_CHECK(strategy != strategies.end());
  run->station().strategy_index = static_cast<std::uint8_t>(strategy - strategies.begin());
  return run;
}

NewEvents reopen(const World& world, const Run& failed, Position failed_at, RetryOptions options) {
  RunRetried retried = run_retried_of(failed);
  retried.reason = std::move(options.reason);
  retried.strategy = options.strategy;
  if (options.max_retries) retried.max_retries = options.max_retries;
  if (!world.pipelines.contains(failed.pipeline_digest)) retried.pipeline = *failed.pipeline;
  const Stream stream = Stream::run(failed.id);
  NewEvents events{{stream, {}, failed_at, RunEvent{std::move(retried)}}};
  add_plan(failed, events);
  if (const auto held = held_at_turn(failed.definition(), failed.budget, failed.used)) {
    events.push_back({stream, {}, 0, StationEvent{*held}});
  }
  return events;
}

Decided<NewEvents> decide(const World& world, const RetryRun& command, const Now&) {
  if (const Card* card = world.board.find_by_run(command.run_id)) {
    return tl::unexpected(run_is_of_card(command.run_id, card->id, card->status));
  }
  TRY(validate(command));
  const auto found = TRY(failed_run(world, command));
  const Run& run = *found;
  const auto strategy = TRY(first_strategy(run, command.strategy));
  TRY(require_free_root(world, run.run_root));
  if (command.failed != nullptr) TRY(require_latest_usage(world, run.id, command.read_at));

  return reopen(world, run, command.failed_at,
                {command.reason.value_or(""), strategy, command.max_retries});
}

}  // namespace signalbox
