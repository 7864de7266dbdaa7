// Translates an HTTP request into the equivalent line of JSON-RPC, so that the dispatcher handles
// both protocols alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/error.h"
#include "server/transport/http/route.h"

namespace signalbox {

// Values of the request's header fields that become params; empty: the field is missing.
struct CallHeaders {
  std::string_view idempotency_key;
  std::string_view last_event_id;
};

// Returns the JSON-RPC request for `match.route`, with id 1. Errors: INVALID_PARAMS for a parameter
// that is malformed, given twice or in the wrong place; PARSE_ERROR for a body that isn't JSON.
Decided<std::string> call_line(const RouteMatch& match, const Target& target,
                               const CallHeaders& headers, std::string_view body);

// Returns the result of the answer to such a request as JSON text; nullopt if it is an error.
std::optional<std::string_view> result_text(std::string_view answer_line);

}  // namespace signalbox
