// A subscription to events that reconnects: it has no gaps, also over restarts of the server.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/client.h"
#include "tools/cli/invocation.h"

namespace signalbox {

// Receives a notification that isn't an event, such as `agent.log`: its name and its params.
using BroadcastVisitor =
    std::function<void(const std::string& name, const boost::json::object& params)>;

// Subscribes with `params` (those of events.subscribe) and calls `visit` for each event in order,
// until it returns false. Calls `visit_broadcast` for the broadcasts that the params ask for by
// name. Blocks until the end; both are called on this thread.
// If the connection is lost later, it tries to reconnect for a minute and continues at the next
// position. The first connection must succeed at once. A server that refuses the later subscription
// for now is asked again for a minute, less and less often.
Called<void> follow_events(const Invocation& invocation, boost::json::object params,
                           const std::function<bool(const boost::json::object&)>& visit,
                           const BroadcastVisitor& visit_broadcast = {});

// Like follow_events() for the run params["run_id"], with the output of its agents (`agent.log`) as
// broadcasts.
Called<void> follow_run_events(const Invocation& invocation, boost::json::object params,
                               const std::function<bool(const boost::json::object&)>& visit,
                               const BroadcastVisitor& visit_broadcast);

// Asks what is looked at, with calls of the client.
using Look = std::function<Called<void>(Client& client)>;

struct LookTimes {
  std::chrono::milliseconds interval;  // looks are at most this far apart
  // Time of the last look; nullopt: it looks until a failure.
  std::optional<std::chrono::steady_clock::time_point> end = std::nullopt;
};

// Looks at something as long as it may change: subscribes with `params`, then calls `look` at once,
// soon after each notification, and at least every `times.interval`. What happens while nobody
// looks is seen by the next look. A look that fails for a while, such as OVERLOADED, is tried
// again. Reconnects, and looks again, as follow_events() does. Blocks until another failure, which
// it returns, or returns nothing after the look at `times.end`, which may be the first one. A
// server that doesn't answer delays that by at most 10 s.
Called<void> keep_looking(const Invocation& invocation, const boost::json::object& params,
                          const LookTimes& times, const Look& look);

}  // namespace signalbox
