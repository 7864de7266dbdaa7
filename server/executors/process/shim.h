// The supervisor of one job: a small process of its own that outlives the server.
//
// It detaches, takes shim.lock (or exits silently: another shim was first), runs the command of
// spec.json under a Supervision, and writes result.json. It never speaks to the server; TERM, HUP
// and INT don't end it, a file `cancel` ends its job.
#pragma once

#include <filesystem>

namespace signalbox {

// Returns in the process that was started as soon as the lock is taken by this or another shim (0),
// or can't be taken (74: nothing was or will be run by this call); and in the detached process at
// the end of the job. Single-threaded callers only: it forks.
int run_shim(const std::filesystem::path& job_directory);

}  // namespace signalbox
