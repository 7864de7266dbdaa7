// What queries about projects answer: the world's, with what the read models know of their cards
// and of their policy's file.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "domain/project.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"

namespace signalbox {

// On the projector's thread; `project` is a copy of the world's. `whole` adds the pipeline and what
// is wrong with the policy's file.
Decided<boost::json::object> project_view(const Api& api, const RunIndex& index,
                                          const Project& project, bool whole);

// PROJECT_NOT_FOUND.
Rejection project_not_found(const std::string& name);

boost::json::object put_project_result(const Api& api, std::span<const Record> records);

}  // namespace signalbox
