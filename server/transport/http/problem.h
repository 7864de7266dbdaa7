// Refusals as RFC 9457 problem details: the same code, details and next commands as everywhere,
// with the HTTP status that fits.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "server/transport/http/http_answer.h"

namespace signalbox {

// 409 for IDEMPOTENCY_CONFLICT, and so on; every code has one.
unsigned status_of(ErrorCode code);

// With Retry-After where trying again helps.
HttpAnswer problem(const Rejection& rejection);
// Where the transport knows better what is wrong than the code.
HttpAnswer problem(unsigned status, const Rejection& rejection);
// From the `error` of a JSON-RPC answer.
HttpAnswer problem(const boost::json::object& error);

}  // namespace signalbox
