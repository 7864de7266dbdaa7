// The base of a merge run: the branch that it merges into and pushes to, and that branch's newest
// commit.
#pragma once

#include "server/executors/builtin/builtin_station.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

// Returns the name of the base branch, without refs/heads/ and without the remote's name. Without a
// base in the request, it is the branch that the repository is on. It is decided once and recorded:
// in the run root for a repeated merge, and in the pinned repository for push. Errors:
// BASE_NOT_BRANCH (config), STORAGE_FAILED (transient).
tl::expected<std::string, Failure> settle_base_branch(const BuiltinRequest& request,
                                                      const PinnedRepository& pinned);

// Returns the branch's newest commit: fetched from the remote if there is one, else the
// repository's own. A fetched commit is referred to by refs/signalbox/base/<run id> only. Errors:
// BASE_NOT_FOUND (config), FETCH_FAILED (transient).
tl::expected<std::string, Failure> newest_base(const BuiltinRequest& request,
                                               const PinnedRepository& pinned,
                                               const std::string& branch);

// Returns whether `commit` contains `ancestor`. Error: GIT_FAILED (transient).
tl::expected<bool, Failure> is_contained(const PinnedRepository& pinned,
                                         const std::string& ancestor, const std::string& commit);

}  // namespace signalbox
