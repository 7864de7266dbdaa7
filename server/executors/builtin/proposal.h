// What the built-in station create_pr proposes: the work of a run, as commits of its worktree.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/executors/builtin/builtin_station.h"
#include "server/git/git_command.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

// The request with what git needs in its worktree.
struct Proposal {
  const BuiltinRequest& request;
  const PinnedRepository& pinned;
  GitPlace place;
  std::string base;
  // What a merge changes is told from here: the commits that the work has in common with the branch
  // that it is to be merged into, as that is at the remote. Mostly the base alone.
  std::vector<std::string> shared;

  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments, GitOptions options = {}) const {
    options.place = place;
    return git(request.workspace, std::move(arguments), options);
  }
};

}  // namespace signalbox
