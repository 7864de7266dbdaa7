// The command `checks` of this binary: runs a station's checks one after the other, all of them,
// under a shim like every job, and leaves its result.json and checks.json.
#pragma once

#include <filesystem>

namespace signalbox {

// Reads checks.json of the job's directory and runs in the current one, which is the workspace.
// Gives the exit code: 0 once a result is declared, whatever it says; 74 where it can't be read or
// written.
int run_checks_station(const std::filesystem::path& job_directory);

}  // namespace signalbox
