// The environment of a job: variables that describe the run, and an allow-list of the server's own
// variables. Nothing else of the server's environment reaches a job. JOBS.md explains each
// variable.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/executors/executor.h"

namespace signalbox {

// The variable that holds the secret with which a job authenticates as itself.
inline constexpr std::string_view job_secret_name = "SIGNALBOX_JOB_TOKEN";

// Returns whether the job judges what the run's work changes: by the base of its worktree, which it
// gets as SIGNALBOX_BASE_COMMIT.
bool is_judging(const Job& job);
// Returns whether the job publishes what `merge` made and only checks have seen since then: it gets
// that commit as SIGNALBOX_MERGE_COMMIT.
bool is_pushing_merge(const Job& job);

// Returns what the result of the job's base_station has in the log under `field`, or "".
using FindDeclaredCommit = std::function<Stored<std::string>(const Job& job, const char* field)>;
// Returns the job with the commits that the log has of its base_station. nullptr: those that it
// has.
Executed<Job> with_declared_commits(Job job, const FindDeclaredCommit& declared_commit);

// Returns "NAME=VALUE" entries, sorted by name. An empty `secret` is left out. NUL bytes in text
// from the run are replaced by U+FFFD.
//
// Error: CONFIG_MISSING (config) if the station names a variable that the server doesn't have. No
// error ever contains a value.
Executed<std::vector<std::string>> job_environment(
    const Job& job, const std::filesystem::path& artifacts_dir,
    const std::filesystem::path& socket_path, const std::vector<std::string>& server_environment,
    const std::string& secret = {});

// Returns the job's workspace, which is its working directory.
std::filesystem::path workspace_of(const Job& job);

}  // namespace signalbox
