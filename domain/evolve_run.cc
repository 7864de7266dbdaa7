// How the events of runs change the world.
#include <type_traits>
#include <utility>
#include <variant>

#include "domain/check.h"
#include "domain/current_station.h"
#include "domain/evolve.h"
#include "domain/run_retry.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

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
  if (is_rejected(run)) run.attempt->ending = false;  // the rejection is taken back
  run.cancel_requested = true;
  run.cancel_reason = event.reason;
  if (event.rejects && run.attempt) run.attempt->ending = true;
}

void evolve(World& world, Run& run, const Record&, const RunPaused&) { make_unready(world, run); }
void evolve(World& world, Run& run, const Record& record, const RunResumed&) {
  if (run.station().status == StationStatus::pending) make_ready(world, run, record.position);
}
void evolve(World& world, Run& run, const Record&, const LateUsageReported& event) {
  run.used = run.used + event.usage;
  if (held_at_turn(run.definition(), run.budget, run.used)) make_unready(world, run);
}
void evolve(World&, Run& run, const Record&, const RunBudgetRaised& event) {
  run.budget = event.budget;
}

// Moves the status of the run according to the table, then applies the event itself.
void evolve_open_run(World& world, const Record& record, const RunEvent& noun) {
  Run* run = world.find_run(record.stream.run_id);
  SIGNALBOX_CHECK(run != nullptr);
  note_record(*run, record.position);
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  const auto next = next_status(run->status, number);
  SIGNALBOX_CHECK(next.has_value());
  run->status = *next;
  std::visit(
      [&](const auto& event) {
        using One = std::remove_cvref_t<decltype(event)>;
        if constexpr (!std::is_same_v<One, RunStarted> && !std::is_same_v<One, RunRetried>) {
          evolve(world, *run, record, event);
        }
      },
      noun);
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
  evolve_open_run(world, record, noun);
}

}  // namespace signalbox
