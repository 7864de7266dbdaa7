// The names of the git refs that belong to a run.
#pragma once

#include <string>

#include "domain/ids.h"

namespace signalbox {

// Returns "signalbox/<run id>-<token>", with the token of the run's start: no two runs ever share a
// branch.
std::string branch_of(const RunId& run_id, Token run_token);

// Returns "signalbox/<run id>-*", a pattern for `git branch --list`: the run's branch, where its
// token isn't known.
std::string branch_pattern_of(const RunId& run_id);

// A branch of this name leaves no place for branches of runs, which are below it.
inline constexpr const char* obstructing_branch = "signalbox";

// Returns "signalbox/<run id>-0": the branch by which a run's rescue ref goes to a remote. No run
// starts with token 0.
std::string rescue_branch_of(const std::string& run_id);

// Returns the pattern of the full names of all branches of a run.
std::string run_branches_pattern(const std::string& run_id);

// Returns "refs/signalbox/base/<run id>".
std::string base_ref_of(const std::string& run_id);

}  // namespace signalbox
