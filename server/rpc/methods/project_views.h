// Projects as JSON: their state in the world, with their card counts and the errors of their policy
// file from the read models and the log.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "domain/project.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"

namespace signalbox {

// Returns a project as JSON; `project` is a copy from the world. `whole` adds the pipeline and the
// error of the policy file. STORAGE_DAMAGED. Called on the projector's thread.
Decided<boost::json::object> project_view(const Api& api, const RunIndex& index,
                                          const Project& project, bool whole);

// Returns PROJECT_NOT_FOUND.
Rejection project_not_found(const std::string& name);

// Returns the result of `project.put`, built from its events.
boost::json::object put_project_result(const Api& api, std::span<const Record> records);

}  // namespace signalbox
