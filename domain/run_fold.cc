#include "domain/run_fold.h"

#include <memory>
#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {

RunFold::RunFold(const Record& started, const PipelineDefinition& pipeline)
    : id_(started.stream.run_id) {
  const auto* event = event_as<RunStarted>(started.event);
  SIGNALBOX_CHECK(event != nullptr);
  world_.pipelines.emplace(event->pipeline_digest,
                           PinnedPipeline{std::make_shared<PipelineDefinition>(pipeline)});
}

void RunFold::apply(const Record& record) {
  world_.position = record.position - 1;  // what lies between is of others
  const auto* claimed = event_as<StationClaimed>(record.event);
  if (claimed == nullptr || claimed->lock_token == 0) return evolve(world_, record);
  Record alone = record;  // the lock isn't of this world
  StationClaimed without = *claimed;
  without.lock_token = 0;
  alone.event = StationEvent{std::move(without)};
  evolve(world_, alone);
}

}  // namespace signalbox
