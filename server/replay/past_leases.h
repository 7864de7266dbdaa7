// When the leases that are open at a moment of the past began.
#pragma once

#include <cstdint>
#include <map>

#include "domain/world.h"
#include "store/store_error.h"

namespace signalbox {

class EventLog;

// Returns by the position of the grant or renewal of each open lease of an attempt or a lock when
// it began (ns, UTC): then, or at a later start of the service or clock jump, after which leases
// have their full length again. A lease whose record was dropped from the log began, as far as is
// known, with the oldest record after it. `world` is the fold of the log up to its position; the
// log is read from the oldest of these records on. Fails as the log does.
Stored<std::map<Position, std::int64_t>> lease_begins(const EventLog& log, const World& world);

}  // namespace signalbox
