// The methods of this program, for whoever asks without a running service.
#pragma once

#include <string>
#include <string_view>

#include "store/store_error.h"

namespace signalbox {

// Returns the OpenRPC document that a service of this program serves. `openapi` as in
// openrpc_document().
Stored<std::string> describe_own_methods(std::string_view openapi);

}  // namespace signalbox
