// The results of queries about runs, from the read models and the run's own events. All functions
// are called on the projector's thread.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "projections/run_index.h"
#include "server/rpc/api.h"

namespace signalbox {

// Returns the result of `run.get`. RUN_NOT_FOUND or STORAGE_DAMAGED.
Decided<boost::json::object> run_view(const Api& api, const RunIndex& index, const RunId& run_id);

// Returns the result of `run.artifact`: the artifact of this name of the newest attempt that has
// one. ARTIFACT_NOT_FOUND, and the errors of run_view().
Decided<boost::json::object> artifact_view(const Api& api, const RunIndex& index,
                                           const RunId& run_id, const std::string& name);

}  // namespace signalbox
