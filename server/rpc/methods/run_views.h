// What queries about runs answer: read models and the run's own events, put together.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "projections/run_index.h"
#include "server/rpc/api.h"

namespace signalbox {

// All of these run on the projector's thread.

Decided<boost::json::object> run_view(const Api& api, const RunIndex& index, const RunId& run_id);

Decided<boost::json::object> artifact_view(const Api& api, const RunIndex& index,
                                           const RunId& run_id, const std::string& name);

Decided<boost::json::object> list_view(const RunIndex& index, const RunFilter& filter,
                                       std::size_t limit, Position cursor);

}  // namespace signalbox
