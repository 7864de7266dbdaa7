// The internal command `coderunner`: runs a coding agent for a station's attempt, under a shim like
// every job, and writes result.json.
//
// The mode `mock` is deterministic and offline; `process` runs the agent's command line interface.
#pragma once

#include <filesystem>

namespace signalbox {

// Runs the task in agent.json of the job's directory. Returns the exit code: 0 once a result is
// declared, whatever it is; 74 if a file can't be read or written.
int run_coderunner(const std::filesystem::path& job_directory);

}  // namespace signalbox
