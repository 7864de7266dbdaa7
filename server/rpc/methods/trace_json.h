// A run's trace as `run.trace` answers it.
#pragma once

#include <cstdint>

#include <boost/json/object.hpp>

#include "server/followers/traces/trace_source.h"

namespace signalbox {

// Returns {run_id, trace_id, as_of, spans}; the root comes first, and a child after its parent.
boost::json::object trace_to_json(const RunId& run_id, const WholeTrace& whole,
                                  std::int64_t as_of_ns);

}  // namespace signalbox
