// The names of the refs that a run has in its repository.
#pragma once

#include <string>

#include "domain/ids.h"

namespace signalbox {

// "signalbox/<run id>-<token>", the token of the run's start: no two runs ever share a branch.
std::string branch_of(const RunId& run_id, Token run_token);

// "refs/signalbox/base/<run id>".
std::string base_ref_of(const std::string& run_id);

}  // namespace signalbox
