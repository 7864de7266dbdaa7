// The branch that a merge run merges into and pushes to, and its newest commit.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// The name of the base branch, without refs/heads/: the request's base, without the name of its
// remote before it; the branch that the repository is on where no base is given. Decided once and
// kept in the run root. BASE_NOT_BRANCH (config), STORAGE_FAILED (transient).
tl::expected<std::string, Failure> settle_base_branch(const BuiltinRequest& request);

// Its newest commit: the remote's, fetched, where there is a remote; else the repository's own.
// Nothing refers to it but refs/signalbox/base/<run id>. BASE_NOT_FOUND (config), FETCH_FAILED
// (transient).
tl::expected<std::string, Failure> newest_base(const BuiltinRequest& request,
                                               const std::string& branch);

// Whether everything of `ancestor` is in `commit` already. GIT_FAILED (transient).
tl::expected<bool, Failure> is_contained(const BuiltinRequest& request, const std::string& ancestor,
                                         const std::string& commit);

}  // namespace signalbox
