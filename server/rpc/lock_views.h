// Locks as JSON: the results of all `lock.*` methods, and the details of LOCK_HELD. Called on the
// engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/event.h"
#include "domain/lock.h"
#include "server/rpc/api.h"

namespace signalbox {

class LockQueue;

// Returns the end of a held lock's lease, in nanoseconds of UTC. After a restart or a clock jump it
// is later than the log's: the lease has started anew.
std::int64_t lease_end_utc_ns(const Api& api, const Lock& lock);

// Puts that time into the details of LOCK_HELD. Returns any other rejection unchanged.
Rejection with_lease_end(const Api& api, const std::string& key, Rejection rejection);

// Returns {"key", "lock": {…} | null, "last": {…} | null, "waiting"}.
boost::json::object lock_view(const Api& api, const LockQueue& queue, const std::string& key);

// Selects locks whose key starts with `prefix` and is greater than `cursor`.
struct LockFilter {
  std::string prefix;
  std::optional<std::string> owner;
  std::string cursor;
  std::size_t limit = 0;
};
// Returns {"locks": [{…}], "next_cursor"}, ordered by key.
boost::json::object lock_list_view(const Api& api, const LockQueue& queue,
                                   const LockFilter& filter);

// Results are built from the events of their commit, as in results.h.
//
// Returns {"key", "owner", "token", "lease_ms", "acquired_at", "expires_at", "reason", "extended"}.
boost::json::object acquire_result(const Api& api, std::span<const Record> records);
boost::json::object refresh_result(const Api& api, std::span<const Record> records);
// Returns {"released"}, and with true also {"key", "owner", "token"}; false if the lock wasn't held
// any more.
boost::json::object release_result(const Api& api, std::span<const Record> records);

}  // namespace signalbox
