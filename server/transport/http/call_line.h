// An HTTP request as the line of JSON-RPC that it stands for: from here on both transports go the
// same way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/error.h"
#include "server/transport/http/route.h"

namespace signalbox {

// What of the request's header goes into params.
struct CallHeaders {
  std::string_view idempotency_key;
  std::string_view last_event_id;
};

// The request for `match.route`, under the id 1. INVALID_PARAMS where the same thing is said twice
// and differently, PARSE_ERROR for a body that isn't JSON.
Decided<std::string> call_line(const RouteMatch& match, const Target& target,
                               const CallHeaders& headers, std::string_view body);

// The result of an answer to such a request as JSON text; nullopt if it is an error.
std::optional<std::string_view> result_text(std::string_view answer_line);

}  // namespace signalbox
