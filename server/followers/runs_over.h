// Which runs are over for good, by the read models: the world forgets ended runs after an hour.
#pragma once

#include <set>
#include <string>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "server/followers/projector.h"

namespace signalbox {

// Returns those of `run_ids` (as text) that can't go on any more after `position`, which is
// durable: runs that succeeded or were canceled, ended runs of cards, and runs that the log doesn't
// have. A failed run that is no card's isn't over, because it can be retried. What is over stays
// so. Error: a sentence that says why nobody can tell. Blocks until the read models have reached
// `position`. Any thread but the projector's.
tl::expected<std::set<std::string>, std::string> runs_over(Projector& projector, Position position,
                                                           const std::set<std::string>& run_ids);

}  // namespace signalbox
