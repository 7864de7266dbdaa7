// A JSON-RPC 2.0 request, read from one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>

#include "domain/error.h"
#include "domain/ids.h"

namespace signalbox {

struct Request {
  std::string id_text;  // as JSON text; empty for a notification
  std::string method;
  boost::json::object params;  // empty where none were given
  std::string command_id;      // removed from params; empty if none was given
};

// A request that was rejected, with the id for its answer if there is one.
struct BadRequest {
  std::string id_text;  // "null" if unknown
  Rejection rejection;
};

// Parses one line; the params are allocated in `storage`. PARSE_ERROR; INVALID_REQUEST, also for a
// batch, because a line is one object; INVALID_PARAMS for a bad command_id.
tl::expected<Request, BadRequest> read_request(std::string_view line,
                                               const boost::json::storage_ptr& storage);

// Returns the SHA-256 of the method and its params, independent of the order of their keys.
// Requests with the same digest count as the same request for command ids and idempotency keys.
Digest request_digest(std::string_view method, const boost::json::object& params);

}  // namespace signalbox
