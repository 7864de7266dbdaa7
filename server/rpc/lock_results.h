// The results of `lock.*` that change something, made from the events of their commit; see
// results.h.
#pragma once

#include <span>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "server/rpc/api.h"

namespace signalbox {

// {"key", "owner", "token", "lease_ms", "acquired_at", "expires_at", "reason", "extended"}.
boost::json::object acquire_result(const Api& api, std::span<const Record> records);
boost::json::object refresh_result(const Api& api, std::span<const Record> records);
// {"released"}: false where nothing was held any more.
boost::json::object release_result(const Api& api, std::span<const Record> records);

}  // namespace signalbox
