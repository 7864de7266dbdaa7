// Converts refusals to RFC 9457 problem details: the same code, details and next commands as in
// every other protocol, with the matching HTTP status.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/transport/http/http_answer.h"

namespace signalbox {

// Returns the HTTP status of an error code, such as 409 for IDEMPOTENCY_CONFLICT.
unsigned status_of(ErrorCode code);

// Returns the response for a refusal, with Retry-After if trying again helps.
HttpAnswer problem(const Rejection& rejection);
// Returns the response with another status than the code's, for errors of HTTP itself.
HttpAnswer problem(unsigned status, const Rejection& rejection);
// Returns the response for `error`, the error object of a JSON-RPC answer.
HttpAnswer problem(const boost::json::object& error);

}  // namespace signalbox
