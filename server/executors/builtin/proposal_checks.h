// What a merge of a proposal would change of the files that decide how work is checked.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/executors/builtin/proposal.h"

namespace signalbox {

// Returns the commits for Proposal::shared. A base that only the repository has, or newer commits
// of the branch that the work has merged, would else change what nobody is shown: the one brings
// its own commits with the work, the other may have taken back what the branch got meanwhile.
// Blocks on git and the remote. Error: GIT_FAILED (transient).
tl::expected<std::vector<std::string>, Failure> find_shared_commits(const Proposal& proposal,
                                                                    const std::string& head);

// Returns the files that decide about checks and that a merge of `head` changes, sorted. They are
// compared as commits, so that nothing in the worktree can hide one, and nothing that was put in
// place of a directory's object. Errors: GIT_FAILED, STORAGE_FAILED (transient), REPOSITORY_DAMAGED
// (config).
tl::expected<std::vector<std::string>, Failure> find_changed_checks(const Proposal& proposal,
                                                                    const std::string& head);

}  // namespace signalbox
