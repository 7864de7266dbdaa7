// Events as they happen, without gaps, over restarts of the server.
#pragma once

#include <functional>

#include <boost/json/object.hpp>

#include "tools/invocation.h"

namespace signalbox {

// Subscribes with `params` (as events.subscribe takes them) and gives `visit` each event in order,
// until it returns false. Where the connection is lost later, it connects again for a minute and
// goes on where it stood; the first connection must succeed at once.
Called<void> follow_events(const Invocation& invocation, boost::json::object params,
                           const std::function<bool(const boost::json::object&)>& visit);

}  // namespace signalbox
