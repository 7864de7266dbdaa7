// One command from its start until nothing of it is left.
#pragma once

#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"

namespace signalbox {

// Runs the command under the files `cancel` and `paused` of `job`. Blocks until nothing of it is
// left: at the latest timeout + grace + kill_patience_ms after the call, or after the file `paused`
// was there last. The process must have no other children and have called become_reaper().
ShimResult run_supervised(const JobSpec& spec, BoundedLog stdout_log, BoundedLog stderr_log,
                          const JobDirectory& job);

}  // namespace signalbox
