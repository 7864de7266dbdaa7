// A subscription to events that reconnects: it has no gaps, also over restarts of the server.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Receives a notification that isn't an event, such as `agent.log`: its name and its params.
using BroadcastVisitor =
    std::function<void(const std::string& name, const boost::json::object& params)>;

// Subscribes with `params` (those of events.subscribe) and calls `visit` for each event in order,
// until it returns false. Calls `visit_broadcast` for the broadcasts that the params ask for by
// name. Blocks until the end; both are called on this thread.
// If the connection is lost later, it tries to reconnect for a minute and continues at the next
// position. The first connection must succeed at once.
Called<void> follow_events(const Invocation& invocation, boost::json::object params,
                           const std::function<bool(const boost::json::object&)>& visit,
                           const BroadcastVisitor& visit_broadcast = {});

// Like follow_events() for the run params["run_id"], with the output of its agents (`agent.log`) as
// broadcasts.
Called<void> follow_run_events(const Invocation& invocation, boost::json::object params,
                               const std::function<bool(const boost::json::object&)>& visit,
                               const BroadcastVisitor& visit_broadcast);

}  // namespace signalbox
