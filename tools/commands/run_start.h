// Waits for a run to end; shared by `run start`, `run watch` and `run cancel --wait`.
#pragma once

#include <string>

#include "tools/cli/invocation.h"

namespace signalbox {

// Blocks until the run has ended; returns the result of run.get.
Called<boost::json::object> wait_for_end(const Invocation& invocation, const std::string& run_id);

}  // namespace signalbox
