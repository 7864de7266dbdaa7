// A rejection as JSON: the `data` of a JSON-RPC error, and the same object on the command line.
#pragma once

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "domain/ids.h"

namespace signalbox {

const char* name_of(ErrorCode code);

// Of a position that was asked for, whatever number that is: as text where it is beyond what a
// reader of JSON keeps exactly.
Detail position_detail(std::string key, Position position);

// {"code": "RUN_TERMINAL", "details": {…}, "next_commands": […]}.
boost::json::object rejection_data(const Rejection& rejection);

// {"code": -32002, "message": …, "data": {…}}, JSON-RPC 2.0 section 5.1.
boost::json::object rejection_to_json(const Rejection& rejection);

}  // namespace signalbox
