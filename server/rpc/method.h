// One row of the dispatch table, and what its handler is given.
#pragma once

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

struct Method {
  std::string_view name;
  bool mutates;                     // takes a command_id
  std::optional<Role> needs;        // the least role that may; none: anybody, known or not
  std::vector<std::string> params;  // names, as PROTOCOL.md lists them
  void (*handle)(Api& api, Call& call);
};

// Every method, by noun.
std::vector<Method> run_methods();
std::vector<Method> strategy_methods();
std::vector<Method> station_methods();
std::vector<Method> plan_methods();
std::vector<Method> step_methods();
std::vector<Method> lock_methods();
std::vector<Method> tick_methods();
std::vector<Method> loop_methods();
std::vector<Method> project_methods();
std::vector<Method> card_methods();
std::vector<Method> artifact_methods();
std::vector<Method> event_methods();
std::vector<Method> server_methods();
std::vector<Method> access_methods();
std::vector<Method> audit_methods();

}  // namespace signalbox
