// A call of whichever server of a cell takes commands.
#pragma once

#include <chrono>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"
#include "tools/cli/server_address.h"

namespace signalbox {

struct ActiveCall {
  // Bounds each connecting, sending and receiving; 0: no bound (Client::connect()).
  std::chrono::milliseconds timeout{0};
  // While a server of a cell takes over, none of them takes commands. Who names several addresses
  // is told so only after this.
  std::chrono::milliseconds takeover_time{5'000};
};

// Calls the endpoints in their order until one is active. Returns its result, or its refusal; after
// takeover_time that of one that stands by. Moves the endpoint that answered to the front of
// `server`. Blocks.
Called<boost::json::object> call_active(ServerAddress& server, std::string_view method,
                                        const boost::json::object& params,
                                        const ActiveCall& bounds = {});

}  // namespace signalbox
