// Rejections as JSON: the `data` of a JSON-RPC error, which the command line prints as well.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/ids.h"

namespace signalbox {

// Returns the code's name, such as "RUN_TERMINAL".
const char* name_of(ErrorCode code);

// Returns a detail for a position that a client sent, which may be any number: as text if it
// exceeds 2^53, beyond which JSON readers lose precision.
Detail position_detail(std::string key, Position position);

// Returns {"code": "RUN_TERMINAL", "details": {…}, "next_commands": […]}.
boost::json::object rejection_data(const Rejection& rejection);

// Returns {"code": -32002, "message": …, "data": {…}}, JSON-RPC 2.0 section 5.1.
boost::json::object rejection_to_json(const Rejection& rejection);

// Returns the rejection that such an error, which a command of this program printed, is of. A wrong
// command line (USAGE) is INVALID_PARAMS with `field` as the detail of that name; any other code
// that no rejection has is INTERNAL.
Rejection rejection_from_json(const boost::json::object& error, const std::string& field);

}  // namespace signalbox
