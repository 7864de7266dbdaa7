// Expires leases whose end has passed before their timer has fired, so that a command can't benefit
// from that gap. Called on the engine's thread before a command is decided; the service is the
// actor of the events.
#pragma once

#include <optional>
#include <string>

#include "server/rpc/api.h"

namespace signalbox {

// Expires the lock with this token, and everything that depends on it, if the lock's lease is over.
void expire_due_lock(Api& api, const std::optional<Token>& lock_token);

// Expires the tick of this loop if its own lease or that of its lock is over.
void expire_due_tick(Api& api, const std::string& loop);

}  // namespace signalbox
