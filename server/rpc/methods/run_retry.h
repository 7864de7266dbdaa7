// `run.retry`: takes a failed run up again at the station that failed.
//
// It is a file of its own because its decision needs what the world has let go: the run's records,
// read off the engine's thread and folded with the same evolve().
#pragma once

#include "server/rpc/method.h"

namespace signalbox {

void retry_run(Api& api, Call& call);

}  // namespace signalbox
