// The command `coderunner` of this binary: runs a coding agent for a station's attempt, under a
// shim like every job, and leaves its result.json.
//
// Modes: `mock` is deterministic and offline, `process` runs the agent's command line interface.
#pragma once

#include <filesystem>

namespace signalbox {

// Reads agent.json of the job's directory. Gives the exit code: 0 once a result is declared,
// whatever it says; 74 where it can't be read or written.
int run_coderunner(const std::filesystem::path& job_directory);

}  // namespace signalbox
