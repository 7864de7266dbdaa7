// The commit that a run's work begins at.
#pragma once

#include <string>

#include "server/executors/builtin/builtin_station.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

struct IntakeBase {
  std::string commit;
  std::string note;  // a sentence for the summary, after a blank, about the remote; or empty
};

// Returns the commit that the request's base names (HEAD if it names none).
//
// With a remote, a base that is a branch is the remote's, so that the run sees what was merged
// before it: it is fetched if the repository lacks it. If the repository's own branch contains the
// remote's, the run begins at its own. A remote that doesn't answer within remote_answer_ms_max is
// no failure: the run begins at what is there, and the note says so.
//
// Blocks on git and the remote. Errors: BASE_NOT_FOUND and REPOSITORY_INVALID (config);
// GIT_FAILED (transient).
tl::expected<IntakeBase, Failure> find_intake_base(const BuiltinRequest& request,
                                                   const PinnedRepository& pinned);

// Returns the newest commit of the branch of the request's base at the remote, fetched if the
// repository lacks it. Nothing that an agent can write is asked: neither the repository's own
// branches nor those of the remote as it saw them last. Empty if there is no remote, if it doesn't
// answer or has no such branch, or if the base is no branch. Blocks on git and the remote.
std::string newest_remote_base(const BuiltinRequest& request, const PinnedRepository& pinned);

// Returns REPOSITORY_INVALID: the repository or remote at `location` has the obstructing_branch.
tl::unexpected<Failure> branches_obstructed(const BuiltinRequest& request,
                                            const std::string& location);

}  // namespace signalbox
