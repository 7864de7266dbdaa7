#include "domain/evolve.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "domain/check.h"

namespace signalbox {
namespace {

// The longest text about a failed attempt that the next one is given.
constexpr std::size_t previous_bytes_max = 1024;

void make_ready(World& world, Run& run, Position position) {
  run.station().ready_at = position;
  world.ready.insert(run.definition().executor, run.definition().name, position, run.id);
}

void unmake_ready(World& world, Run& run) {
  Position& ready_at = run.station().ready_at;
  if (ready_at == 0) return;
  world.ready.erase(run.definition().executor, run.definition().name, ready_at, run.id);
  ready_at = 0;
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
  const auto place = world.run_by_idempotency_key.find(ended.idempotency_key);
  if (place != world.run_by_idempotency_key.end() && place->second == id) {
    world.run_by_idempotency_key.erase(place);
  }
}

// A terminal run shrinks to what the next command about it needs.
void end_run(World& world, Run& run, Position position) {
  SIGNALBOX_CHECK(!run.attempt.has_value());
  PinnedPipeline& pinned = world.pipelines.find(run.pipeline_digest)->second;
  if (--pinned.open_runs == 0) {
    pinned.idle_since = position;
    forget_oldest_idle_pipeline(world);
  }
  world.ended_runs.put(
      run.id, EndedRun{run.status, run.idempotency_key, run.request_digest, position},
      [&world](const RunId& id, const EndedRun& ended) { forget_key(world, id, ended); });
  const RunId id = run.id;
  world.runs.erase(id);
}

std::string describe_failure(const Failure& failure, const AttemptResult& result) {
  std::string text = failure.code;
  if (!failure.message.empty()) text += ": " + failure.message;
  if (!result.summary.empty()) text += "\n" + result.summary;
  if (text.size() > previous_bytes_max) {
    std::size_t cut = previous_bytes_max;  // not inside a UTF-8 sequence
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
    text.resize(cut);
  }
  return text;
}

void fold(World& world, const ServerStarted& event) { world.server = {event.incarnation, true}; }

void fold(World& world, const ServerStopped&) { world.server.serving = false; }

void start_run(World& world, const Record& record, const RunStarted& event) {
  auto pinned = world.pipelines.find(event.pipeline_digest);
  if (pinned == world.pipelines.end()) {
    SIGNALBOX_CHECK(event.pipeline.has_value());
    pinned = world.pipelines
                 .emplace(event.pipeline_digest,
                          PinnedPipeline{std::make_shared<PipelineDefinition>(*event.pipeline)})
                 .first;
  }
  ++pinned->second.open_runs;
  pinned->second.idle_since = 0;

  auto run = std::make_unique<Run>();
  run->id = record.stream.run_id;
  run->started_at = record.position;
  run->changed_at = record.position;
  run->goal = event.goal;
  run->input = event.input;
  run->run_root = event.run_root;
  run->repository = event.repository;
  run->base = event.base;
  run->idempotency_key = event.idempotency_key;
  run->request_digest = event.request_digest;
  run->pipeline_digest = event.pipeline_digest;
  run->pipeline = pinned->second.definition;
  run->stations.resize(run->pipeline->stations.size());
  if (!run->idempotency_key.empty()) {
    world.run_by_idempotency_key.insert_or_assign(run->idempotency_key, run->id);
  }
  Run& placed = *run;
  SIGNALBOX_CHECK(world.runs.emplace(placed.id, std::move(run)).second);
  make_ready(world, placed, record.position);
}

void fold(World& world, Run& run, const Record& record, const RunSucceeded&) {
  end_run(world, run, record.position);
}
void fold(World& world, Run& run, const Record& record, const RunFailed&) {
  end_run(world, run, record.position);
}
void fold(World& world, Run& run, const Record& record, const RunCanceled&) {
  end_run(world, run, record.position);
}
void fold(World&, Run& run, const Record&, const RunCancelRequested& event) {
  run.cancel_requested = true;
  run.cancel_reason = event.reason;
}

void fold(World& world, Run& run, const Record& record, const StationClaimed& event) {
  unmake_ready(world, run);
  ++run.station().attempts;
  SIGNALBOX_CHECK(run.station().attempts == event.attempt);
  Attempt& attempt = run.attempt.emplace();
  attempt.token = record.position;
  attempt.span_id = record.span_id;
  attempt.number = event.attempt;
  attempt.strategy = event.strategy;
  attempt.worker = event.worker;
  attempt.lease_ms = event.lease_ms;
  attempt.lease_renewed_at = record.position;
  attempt.started_at_ns = record.recorded_at_ns;
}

void fold(World&, Run& run, const Record&, const StationSubmitIntended& event) {
  run.attempt->job_id = event.job_id;
}
void fold(World&, Run& run, const Record&, const StationExternalRefSet& event) {
  run.attempt->external_ref = event.external_ref;
}
void fold(World&, Run& run, const Record& record, const StationHeartbeat& event) {
  Attempt& attempt = *run.attempt;
  attempt.lease_ms = event.lease_ms;
  attempt.lease_renewed_at = record.position;
}
void fold(World&, Run&, const Record&, const CancelConfirmed&) {}
void fold(World&, Run&, const Record&, const CancelEscaped&) {}

void fold(World& world, Run& run, const Record& record, const StationSucceeded&) {
  run.attempt.reset();
  run.previous.clear();
  if (run.current + 1 < run.stations.size()) {
    ++run.current;
    make_ready(world, run, record.position);
  }
}

void fold(World&, Run& run, const Record&, const StationAttemptFailed& event) {
  StationState& station = run.station();
  run.attempt.reset();
  ++station.failures;
  station.waiting = WaitReason::backoff;
  station.waiting_until_ns = event.retry_at_ns;
  const auto& strategies = run.definition().retry.strategies;
  const auto next =
      std::find(strategies.begin() + station.strategy_index, strategies.end(), event.next_strategy);
  SIGNALBOX_CHECK(next != strategies.end());
  station.strategy_index = static_cast<std::uint8_t>(next - strategies.begin());
  run.previous = describe_failure(event.failure, event.result);
}

void fold(World&, Run& run, const Record&, const StationFailed&) {
  ++run.station().failures;
  run.attempt.reset();
}
void fold(World&, Run& run, const Record&, const StationTimedOut&) {
  ++run.station().failures;
  run.attempt.reset();
}

void fold(World&, Run& run, const Record&, const StationDeferred& event) {
  run.attempt.reset();
  run.station().waiting = event.reason;
  run.station().waiting_until_ns = event.until_ns;
  if (!event.note.empty()) run.previous = event.note;
}

void fold(World& world, Run& run, const Record& record, const StationReady&) {
  run.station().waiting_until_ns = 0;
  make_ready(world, run, record.position);
}

void fold(World& world, Run& run, const Record&, const StationCanceled&) {
  unmake_ready(world, run);
  run.attempt.reset();
}

// Moves the statuses as the tables say, then folds what the event itself tells: on the station that
// is current before it.
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
    run->station().status = *next;
  }
  const auto next = next_status(run->status, number);
  SIGNALBOX_CHECK(next.has_value() || is_station_event);
  if (next) run->status = *next;
  std::visit(
      [&](const auto& event) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(event)>, RunStarted>) {
          fold(world, *run, record, event);
        }
      },
      noun);
}

void evolve_noun(World& world, const Record&, const ServerEvent& noun) {
  std::visit([&world](const auto& event) { fold(world, event); }, noun);
}
void evolve_noun(World& world, const Record& record, const RunEvent& noun) {
  if (const auto* started = std::get_if<RunStarted>(&noun))
    return start_run(world, record, *started);
  evolve_run(world, record, noun);
}
void evolve_noun(World& world, const Record& record, const StationEvent& noun) {
  evolve_run(world, record, noun);
}

}  // namespace

void evolve(World& world, const Record& record) {
  SIGNALBOX_CHECK(record.position == world.position + 1);
  std::visit([&](const auto& noun) { evolve_noun(world, record, noun); }, record.event);
  world.position = record.position;
  if (!record.command_id.empty() && world.commands.find(record.command_id) == nullptr) {
    world.commands.put(record.command_id,
                       RememberedCommand{record.request_digest, record.position});
  }
}

}  // namespace signalbox
