// The bounds of what is done with git, by name and unit. `server.limits` tells them.
#pragma once

#include <cstdint>

namespace signalbox::limits {

// One call of git. After it its whole process group is ended.
inline constexpr std::int64_t git_ms_max = 10LL * 60 * 1000;
// Of that, between TERM and KILL: git takes its lock files away.
inline constexpr std::int64_t git_grace_ms_max = 2000;
// How long a worktree operation waits for another one in the same repository.
inline constexpr std::int64_t repository_wait_ms_max = 60 * 1000;
// One call of git by the server itself, when it removes a worktree.
inline constexpr std::int64_t removal_git_ms_max = 2LL * 60 * 1000;
// How long a push waits for the server's word.
inline constexpr std::int64_t fence_check_ms_max = 10 * 1000;

}  // namespace signalbox::limits
