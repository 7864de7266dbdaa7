// Waiting for a run to end.
#pragma once

#include <string>

#include "tools/cli/invocation.h"

namespace signalbox {

// Blocks until the run has ended; returns it as run.get does.
Called<boost::json::object> wait_for_end(const Invocation& invocation, const std::string& run_id);

}  // namespace signalbox
