// Expires leases whose end has passed before their timer has fired, so that a command can't benefit
// from that gap. Called on the engine's thread before a command is decided; the service is the
// actor of the events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/rpc/api.h"

namespace signalbox {

// Expires the lock with this token, and everything that depends on it, if the lock's lease is over.
void expire_due_lock(Api& api, const std::optional<Token>& lock_token);

// Expires the tick of this loop if its own lease or that of its lock is over.
void expire_due_tick(Api& api, const std::string& loop);

// Returns `recorded_ns`, the end of a lease by its record, if `utc_ns`, the end that was computed
// from the monotonic clock, differs by no more than the two clocks, which are read one after the
// other; else `utc_ns`.
std::int64_t recorded_if_same(std::int64_t utc_ns, std::int64_t recorded_ns);

}  // namespace signalbox
