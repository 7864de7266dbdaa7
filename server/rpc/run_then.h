// An open run as it was at some position of the log: for answers that are given a second time, when
// the world has gone on, and for nothing else. It reads the run's records.
#pragma once

#include <memory>

#include "domain/run.h"
#include "server/rpc/api.h"

namespace signalbox {

// As the records up to `position`, which is durable, left it; nullptr if it had ended by then, or
// can't be read. On the engine's thread; waits for the read models to follow.
std::shared_ptr<const Run> run_then(const Api& api, const RunId& id, Position position);

}  // namespace signalbox
