// Runs one command from its start until none of its processes is left.
#pragma once

#include "server/executors/bounded_log.h"
#include "server/executors/job_directory.h"

namespace signalbox {

// Runs the command and observes the files `cancel` and `paused` of `job`. Blocks until none of the
// command's processes is left: at the latest timeout + grace + kill_patience_ms after the call, or
// after the file `paused` was last there. Processes that outlive KILL are named in the result. The
// calling process must have no other children and have called become_reaper().
ShimResult run_supervised(const JobSpec& spec, BoundedLog stdout_log, BoundedLog stderr_log,
                          const JobDirectory& job);

}  // namespace signalbox
