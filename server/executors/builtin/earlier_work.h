#pragma once

#include "server/executors/builtin/builtin_station.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

// Gets the earlier work that a card's run is given from the remote, if it was done at another
// machine: the branches of that run, and its rescue ref (rescue_branch_of()). What can't be had
// isn't there: the agent is told of it with that reservation. Returns a sentence about it, after a
// blank; or an empty text, where there is none or it is here. Blocks on git.
std::string fetch_earlier_work(const BuiltinRequest& request, const PinnedRepository& pinned);

}  // namespace signalbox
