// What is shown of locks: `lock.get`, `lock.list`, and who holds one that was refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/lock.h"
#include "server/rpc/api.h"

namespace signalbox {

class LockQueue;

// When the lease of a held lock is over, as UTC. After a restart, or when the clocks parted, that
// is later than the log tells: the lease began anew.
std::int64_t lease_end_utc_ns(const Api& api, const Lock& lock);

// LOCK_HELD tells that time.
Rejection with_lease_end(const Api& api, const std::string& key, Rejection rejection);

// {"key", "lock": {…} | null, "last": {…} | null, "waiting"}.
boost::json::object lock_view(const Api& api, const LockQueue& queue, const std::string& key);

// By key. Locks whose key starts with `prefix`, after `cursor`.
struct LockFilter {
  std::string prefix;
  std::optional<std::string> owner;
  std::string cursor;
  std::size_t limit = 0;
};
// {"locks": [{…}], "next_cursor"}.
boost::json::object lock_list_view(const Api& api, const LockQueue& queue,
                                   const LockFilter& filter);

}  // namespace signalbox
