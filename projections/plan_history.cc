#include "projections/plan_history.h"

#include "domain/evolving_run.h"

namespace signalbox {
namespace {

bool may_end_a_station(const Event& event) {
  return event_as<StationSucceeded>(event) != nullptr || event_as<RunFailed>(event) != nullptr ||
         event_as<RunCanceled>(event) != nullptr;
}

}  // namespace

std::shared_ptr<const Run> fold_ended_plan(std::span<const Record> records,
                                           const PipelineDefinition& pipeline,
                                           std::string_view station) {
  std::shared_ptr<const Run> latest;
  EvolvingRun evolving(records.front(), pipeline);
  for (const Record& record : records) {
    std::shared_ptr<Run> before;
    if (const Run* run = evolving.run();
        run != nullptr && run->plan && may_end_a_station(record.event)) {
      before = std::make_shared<Run>(*run);
    }
    evolving.evolve(record);
    if (before == nullptr) continue;
    if (!station.empty() && before->definition().name != station) continue;
    before->attempt.reset();
    // One that succeeds does it with this event, any other did it with the one before.
    if (event_as<StationSucceeded>(record.event) != nullptr) {
      before->station().status = StationStatus::succeeded;
    }
    latest = std::move(before);
  }
  return latest;
}

}  // namespace signalbox
