// The directory of a workspace that checks may fill as they like: it is nobody's work, is never
// committed, and goes when the checks have ended and before the worktree does.
#pragma once

namespace signalbox {

inline constexpr const char* smoke_data_name = ".smoke-data";
// For git: all but that.
inline constexpr const char* without_smoke_data = ":(exclude,top).smoke-data";

}  // namespace signalbox
