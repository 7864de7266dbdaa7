// The workspace of a run that another one has taken: both were started with the same run root.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

#include "domain/station_events.h"

namespace signalbox {

// Fails with WORKSPACE_TAKEN (config) if the worktree of `repository` at `workspace`, whose git
// directory is `git_directory`, is another run's than `run_id`: the other's work would be judged
// and published as this run's. One without a fence marker is nobody's. Blocks on the disk.
tl::expected<void, Failure> require_own_workspace(const std::filesystem::path& workspace,
                                                  const std::filesystem::path& git_directory,
                                                  const std::filesystem::path& repository,
                                                  const std::string& run_id);

}  // namespace signalbox
