// When the leases that are open at a moment of the past began.
#pragma once

#include <cstdint>
#include <map>

#include "domain/world.h"
#include "store/store_error.h"

namespace signalbox {

class EventLog;

// When the open leases of attempts and locks began, as of a position.
struct LeaseBegins {
  Position position = 0;
  std::map<Position, std::int64_t> begins;  // ns, UTC; by the position of the grant or renewal
};

// Returns when each open lease of `world` began: at its grant or renewal, or at a later start of
// the service or clock jump, after which leases have their full length again. A lease whose record
// was dropped from the log began, as far as is known, with the oldest record after it. `world` is
// the fold of the log up to its position; `known` is of an earlier position of the same log, or
// empty. The log is read from the oldest grant or renewal on, of leases that are known from that
// position on: a lock may be held for a day. Fails as the log does.
Stored<LeaseBegins> lease_begins(const EventLog& log, const World& world,
                                 const LeaseBegins& known = {});

}  // namespace signalbox
