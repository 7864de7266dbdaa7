// The sentences about commits that an agent made in its workspace and that create_pr leaves out.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "server/executors/builtin/builtin_station.h"
#include "server/git/git_command.h"

namespace signalbox {

// Returns sentences, each after a line end, that name what the commit `head` doesn't have of the
// commits that the run's branch had (left_out_refs.h), or that the worktree's HEAD was moved away
// from (worktree_tips.h), and what was stashed there, and where they are; empty if
// there are none. Commits of the base and of remotes don't count. A few of them are named, and the
// command that lists the others. Blocks on git. Error: git's message.
tl::expected<std::string, std::string> describe_left_out_commits(const BuiltinRequest& request,
                                                                 const GitOptions& there,
                                                                 const std::string& base,
                                                                 const std::string& head);

// Returns the command that lists the refs of the run's left-out commits, as code.
std::string left_out_refs_command(const BuiltinRequest& request);

}  // namespace signalbox
