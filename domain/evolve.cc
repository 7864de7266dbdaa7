// The dispatch of evolve(), and how the events of the server change the world.
#include "domain/evolve.h"

#include <memory>
#include <utility>

#include "domain/check.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

void evolve(World& world, const Record&, const ServerStarted& event) {
  world.server.incarnation = event.incarnation;
  world.server.serving = true;
}

void evolve(World& world, const Record&, const ServerStopped&) { world.server.serving = false; }

// The consequences of the verdicts are events of their own.
void evolve(World& world, const Record& record, const RecoveryFinished& event) {
  world.server.recovered_at = record.position;
  world.server.crash_report = event.report;
}
void evolve(World&, const Record&, const CellTaken&) {}    // the cell knows its writer
void evolve(World&, const Record&, const ClockJumped&) {}  // deadlines aren't state

void evolve(World& world, const Record&, const RunsPruned& event) {
  world.ended_runs.erase_if([&event](const RunId&, const EndedRun& ended) {
    return ended.ended_at <= event.through && ended.idempotency_key.empty();
  });
}

// The present state doesn't depend on which records the log still holds.
void evolve(World&, const Record&, const HistoryDropped&) {}

void evolve(World& world, const Record& record, const ServicePaused& event) {
  world.server.pause =
      ServicePause{record.position, record.recorded_at_ns, record.actor, event.reason};
}

void evolve(World& world, const Record&, const ServiceResumed&) { world.server.pause.reset(); }

// Projections are computed from the log and aren't part of the world.
void evolve(World&, const Record&, const ProjectionRebuilt&) {}

}  // namespace

void evolve_noun(World& world, const Record& record, const ServerEvent& noun) {
  std::visit([&](const auto& event) { evolve(world, record, event); }, noun);
}

void evolve(World& world, const Record& record) {
  SIGNALBOX_CHECK(record.position == world.position + 1);
  std::visit([&](const auto& noun) { evolve_noun(world, record, noun); }, record.event);
  world.position = record.position;
  if (!record.command_id.empty() && world.commands.find(record.command_id) == nullptr) {
    world.commands.put(record.command_id,
                       RememberedCommand{record.request_digest, record.position});
  }
}

EvolvingRun::EvolvingRun(const Record& started, const PipelineDefinition& pipeline)
    : id_(started.stream.run_id) {
  const auto* event = event_as<RunStarted>(started.event);
  SIGNALBOX_CHECK(event != nullptr);
  world_.pipelines.emplace(event->pipeline_digest,
                           PinnedPipeline{std::make_shared<PipelineDefinition>(pipeline)});
}

void EvolvingRun::evolve(const Record& record) {
  world_.position = record.position - 1;  // the positions between belong to other streams
  const auto* claimed = event_as<StationClaimed>(record.event);
  if (claimed == nullptr || claimed->lock_token == 0) return signalbox::evolve(world_, record);
  Record lockless = record;  // this world holds no locks
  StationClaimed claim = *claimed;
  claim.lock_token = 0;
  lockless.event = StationEvent{std::move(claim)};
  signalbox::evolve(world_, lockless);
}

std::shared_ptr<const Run> evolved_run(std::span<const Record> records,
                                       const PipelineDefinition& pipeline) {
  SIGNALBOX_CHECK(!records.empty());
  EvolvingRun evolving(records.front(), pipeline);
  for (const Record& record : records) evolving.evolve(record);
  const Run* run = evolving.run();
  return run == nullptr ? nullptr : std::make_shared<const Run>(*run);
}

std::shared_ptr<const Run> evolved_failed_run(std::span<const Record> records,
                                              const PipelineDefinition& pipeline) {
  Usage late;
  while (!records.empty()) {
    const auto* reported = event_as<LateUsageReported>(records.back().event);
    if (reported == nullptr) break;
    late = late + reported->usage;
    records = records.first(records.size() - 1);
  }
  if (records.empty() || event_as<RunFailed>(records.back().event) == nullptr) return nullptr;
  const auto run = evolved_run(records.first(records.size() - 1), pipeline);
  SIGNALBOX_CHECK(run != nullptr);
  if (late == Usage{}) return run;
  Run failed = *run;
  failed.used = failed.used + late;
  return std::make_shared<const Run>(std::move(failed));
}

}  // namespace signalbox
