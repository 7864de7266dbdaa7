// Publishes a proposal: pushes the run's branch to the remote.
#pragma once

#include <string>

#include "server/executors/builtin/proposal.h"
#include "server/executors/builtin/run_worktree.h"

namespace signalbox {

// Pushes the commit `head` as the run's branch; nothing without a remote. Repeated, it pushes
// nothing again. Blocks on git and the remote. Error: PUSH_FAILED, transient, or config if the
// remote's branch has commits that the run didn't make.
BuiltinStep push_proposal(const Proposal& proposal, const std::string& head);

}  // namespace signalbox
