// Leases that are over although their timer hasn't fired yet: what comes in must not profit from
// the moment between. Called before a command is decided; what ends here is the service's doing.
#pragma once

#include <optional>
#include <string>

#include "server/rpc/api.h"

namespace signalbox {

// The lock that is held with this token, if its lease is over, and all that depends on it.
void end_due_lock(Api& api, const std::optional<Token>& lock_token);

// The tick of this loop, if its lease or that of its lock is over.
void end_due_tick(Api& api, const std::string& loop);

}  // namespace signalbox
