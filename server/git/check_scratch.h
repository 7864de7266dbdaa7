// The scratch directory of a workspace, which checks may fill. Its content is never committed. It
// is removed when the checks have ended, and before the worktree is removed.
#pragma once

namespace signalbox {

inline constexpr const char* check_scratch_name = ".smoke-data";
// A git pathspec that excludes the scratch directory.
inline constexpr const char* exclude_check_scratch = ":(exclude,top).smoke-data";

}  // namespace signalbox
