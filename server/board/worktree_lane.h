// The lane of everything that reads or removes worktrees of a repository.
#pragma once

#include <string>

#include "server/platform/blocking_pool.h"

namespace signalbox {

// Returns the repository's lane: one that hangs keeps no worktree of another, and nobody reads a
// worktree that is being removed.
inline Lane worktree_lane(const std::string& repository) {
  return {.name = "worktrees of " + repository};
}

}  // namespace signalbox
