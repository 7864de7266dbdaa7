// Checks with git that cards can be worked on in a repository. This is done when a project is put,
// so that its user sees the problem then, and not when a run fails at night.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "domain/command.h"
#include "domain/error.h"

namespace signalbox {

// Checks that `repository` is the root of a git repository (a bare one, too) that has the branch
// `base` with a commit. `remote` must be empty, the name of one of its remotes, or a path or URL,
// which isn't contacted. Returns INVALID_PARAMS with the field and a next command. Blocks for at
// most repository_check_ms_max + git_grace_ms_max, unless the kernel holds the thread.
Decided<void> check_repository(const PutProject& command);

// Why no run can work in the repository at a path.
struct RepositoryFault {
  bool is_missing =
      false;         // nothing is at the path, or no directory; else it is no repository's root
  std::string root;  // of the repository in which the path lies; empty: it seems in none
};

// Returns what is wrong with the path of a repository, as far as a look at its files shows that,
// without git; nullopt if nothing is. What can't be looked at, as for want of a right, may be all
// right. Blocks.
std::optional<RepositoryFault> find_repository_fault(const std::string& path);
// As that.
using FindRepositoryFault = std::function<std::optional<RepositoryFault>(const std::string& path)>;

// Returns the refusal of a repository whose check doesn't end: INVALID_PARAMS.
Decided<void> repository_hangs(const PutProject& command);

}  // namespace signalbox
