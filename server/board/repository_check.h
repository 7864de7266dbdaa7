// Whether cards can be worked on in a repository: asked of git when a project is put, so that what
// is wrong is told to who puts it, and not at night to nobody.
#pragma once

#include "domain/command.h"
#include "domain/error.h"

namespace signalbox {

// INVALID_PARAMS with the field and a next command unless `repository` is the root of a git
// repository (a bare one, too) that has the branch `base` with a commit, and `remote` is empty, a
// remote that the repository knows by this name, or a path or URL (which is not asked). Blocks.
Decided<void> check_repository(const PutProject& command);

}  // namespace signalbox
