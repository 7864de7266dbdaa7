// When two requests are the same request: for command ids and idempotency keys.
#pragma once

#include <optional>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/ids.h"

namespace signalbox {

// SHA-256 of the method and its params, whatever the order of their keys.
Digest request_digest(std::string_view method, const boost::json::object& params);

}  // namespace signalbox
