// The internal command `checks`: runs all checks of a station one after the other, under a shim
// like every job, and writes result.json and checks.json.
#pragma once

#include <filesystem>

namespace signalbox {

// Reads the task file checks.json of the job's directory and runs the checks in the current
// directory, which is the workspace. Returns the exit code: 0 once a result is declared, whatever
// it is; 74 if a file can't be read or written.
int run_checks_station(const std::filesystem::path& job_directory);

}  // namespace signalbox
