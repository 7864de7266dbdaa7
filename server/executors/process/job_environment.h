// The environment of a job: what the run is about, and an allow-list of the server's own. Nothing
// else of the server's environment reaches a job. JOBS.md explains each variable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/executors/executor.h"

namespace signalbox {

// "NAME=VALUE" entries, sorted by name. Text from the run has NUL bytes replaced by U+FFFD.
//
// CONFIG_MISSING (config) if the station names a variable that the server doesn't have. No error
// ever has a value in it.
Executed<std::vector<std::string>> job_environment(
    const Job& job, const std::filesystem::path& artifacts_dir,
    const std::filesystem::path& socket_path, const std::vector<std::string>& server_environment);

// The run's working directory.
std::filesystem::path workspace_of(const Job& job);

}  // namespace signalbox
