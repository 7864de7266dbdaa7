// One row of the dispatch table, and what its handler is given.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/access.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"

namespace signalbox {

struct Call {
  boost::json::object params;  // lives as long as the call: handlers copy what they keep
  Origin origin;
  Responder responder;
};

using Handler = std::function<void(Api& api, Call& call)>;

// A handler that needs `part` beside the Api; `part` lives as long as it.
template <class Part>
Handler with(Part& part, void (*handle)(Api& api, Call& call, Part& part)) {
  return [&part, handle](Api& api, Call& call) { handle(api, call, part); };
}

struct Method {
  std::string_view name;
  bool mutates;                     // takes a command_id
  std::optional<Role> needs;        // the least role that may; none: anybody, known or not
  std::vector<std::string> params;  // names, as PROTOCOL.md lists them
  Handler handle;
};

}  // namespace signalbox
