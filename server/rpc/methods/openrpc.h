// The OpenRPC 1.3 document of the socket interface: every method with its params, role, errors and
// result, and every type of event.
//
// Names, params, roles, errors' numbers and events come from the dispatch table and the described
// structs. methods.json has what the code doesn't say: a sentence about each method, the errors of
// its own, its result, and the params that a handler takes in more forms than its struct has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/rpc/method.h"

namespace signalbox {

// Returns the document. `openapi` is that of HTTP: results that both have are described there.
std::string openrpc_document(std::span<const Method> methods, std::string_view openapi);

// Returns methods.json.
std::string_view method_texts();

}  // namespace signalbox
