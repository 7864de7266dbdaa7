// The deep work of a station that the run has left, as it was when the station ended: the state of
// the world has only what is under way, the log has the rest.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "domain/run.h"

namespace signalbox {

// The run with its latest plan of `station` (of any, where that is empty) and without an attempt,
// its current station the plan's, in the status in which that ended. nullptr if there was no such
// plan or it hasn't ended. `records` are those of the run from its RunStarted on (heartbeats may
// be left out), `pipeline` the definition that it pinned.
std::shared_ptr<const Run> fold_ended_plan(std::span<const Record> records,
                                           const PipelineDefinition& pipeline,
                                           std::string_view station);

}  // namespace signalbox
