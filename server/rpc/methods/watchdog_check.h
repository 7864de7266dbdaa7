// `watchdog.check`: is the attempt under way, or the latest one, out of time?
#pragma once

#include <boost/describe/class.hpp>

#include "domain/ids.h"
#include "server/rpc/method.h"

namespace signalbox {

struct CheckWatchdog {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(CheckWatchdog, (), (run_id))

// An attempt that is over its timeout is timed out in this very call.
void check_watchdog(Api& api, Call& call);

}  // namespace signalbox
