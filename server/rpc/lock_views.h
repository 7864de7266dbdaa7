// What is shown of locks: `lock.get`, `lock.list`, who holds one that was refused, and the results
// of the methods that change one.
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

// Results are made from the events of their commit, as in results.h.
//
// {"key", "owner", "token", "lease_ms", "acquired_at", "expires_at", "reason", "extended"}.
boost::json::object acquire_result(const Api& api, std::span<const Record> records);
boost::json::object refresh_result(const Api& api, std::span<const Record> records);
// {"released"}: false where nothing was held any more.
boost::json::object release_result(const Api& api, std::span<const Record> records);

}  // namespace signalbox
