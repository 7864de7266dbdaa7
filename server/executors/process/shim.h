// The supervisor of one job: a small process that outlives the server.
//
// It detaches, takes shim.lock (or exits silently if another shim was first), runs the command of
// spec.json with run_supervised(), and writes result.json. It never communicates with the server.
// TERM, HUP and INT don't end it; the file `cancel` ends its job.
#pragma once

#include <filesystem>

namespace signalbox {

// Runs the shim; it forks, so the caller must be single-threaded. In the calling process it returns
// 0 as soon as this or another shim holds the lock, or 74 if the lock can't be taken: then this
// call has run nothing and will run nothing. In the detached process it returns at the end of the
// job.
int run_shim(const std::filesystem::path& job_directory);

}  // namespace signalbox
