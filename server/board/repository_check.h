// Checks with git that cards can be worked on in a repository. This is done when a project is put,
// so that its user sees the problem then, and not when a run fails at night.
#pragma once

#include "domain/command.h"
#include "domain/error.h"

namespace signalbox {

// Checks that `repository` is the root of a git repository (a bare one, too) that has the branch
// `base` with a commit. `remote` must be empty, the name of one of its remotes, or a path or URL,
// which isn't contacted. Returns INVALID_PARAMS with the field and a next command. Blocks.
Decided<void> check_repository(const PutProject& command);

}  // namespace signalbox
