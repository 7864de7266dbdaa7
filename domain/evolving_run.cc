#include "domain/evolving_run.h"

#include <memory>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {

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
  if (records.empty() || event_as<RunFailed>(records.back().event) == nullptr) return nullptr;
  auto run = evolved_run(records.first(records.size() - 1), pipeline);
  SIGNALBOX_CHECK(run != nullptr);
  return run;
}

}  // namespace signalbox
