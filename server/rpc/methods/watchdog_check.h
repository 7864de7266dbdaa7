// `watchdog.check`: checks whether a run's attempt under way, or its latest one, has exceeded its
// timeout.
#pragma once

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "server/rpc/method.h"

namespace signalbox {

struct CheckWatchdog {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(CheckWatchdog, (), (run_id))

// Handles `watchdog.check`. An attempt that has exceeded its timeout is timed out by this call.
void check_watchdog(Api& api, Call& call);

}  // namespace signalbox
