// Events as they happen, without gaps, over restarts of the server.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Gets the name and the parameters of what is sent beside the events, such as `agent.log`.
using BroadcastVisitor =
    std::function<void(const std::string& name, const boost::json::object& params)>;

// Subscribes with `params` (as events.subscribe takes them) and gives `visit` each event in order,
// until it returns false, and `visit_broadcast` the broadcasts that the params ask for by name.
// Where the connection is lost later, it connects again for a minute and goes on where it stood;
// the first connection must succeed at once.
Called<void> follow_events(const Invocation& invocation, boost::json::object params,
                           const std::function<bool(const boost::json::object&)>& visit,
                           const BroadcastVisitor& visit_broadcast = {});

// Likewise the events of one run, and what its agents print.
Called<void> follow_run_events(const Invocation& invocation, boost::json::object params,
                               const std::function<bool(const boost::json::object&)>& visit,
                               const BroadcastVisitor& visit_broadcast);

}  // namespace signalbox
