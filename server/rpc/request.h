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
  std::string id_text;  // as JSON; empty for a notification
  std::string method;
  boost::json::object params;  // empty where none were given
  std::string command_id;      // taken out of params, or empty
};

// What of a bad request is known, so that its answer carries the id where there is one.
struct BadRequest {
  std::string id_text;  // "null" where unknown
  Rejection rejection;
};

// PARSE_ERROR or INVALID_REQUEST (a batch is one: here it is one object a line). The params lie in
// `storage`.
tl::expected<Request, BadRequest> read_request(std::string_view line,
                                               const boost::json::storage_ptr& storage);

// SHA-256 of the method and its params, whatever the order of their keys: two requests with the
// same digest are the same request to command ids and idempotency keys.
Digest request_digest(std::string_view method, const boost::json::object& params);

}  // namespace signalbox
