// Following one run to its end.
#pragma once

#include <string>

#include "tools/cli/invocation.h"

namespace signalbox {

// Shows the run's events from its start until it ends, and what its agents print meanwhile: ok if
// it succeeded, else refused. Under --json only the ended run, as `run get` gives it.
ExitCode watch_run(const Invocation& invocation, const std::string& run_id, bool with_log = true);

// Silently; gives the ended run, as run.get does.
Called<boost::json::object> wait_for_end(const Invocation& invocation, const std::string& run_id);

}  // namespace signalbox
