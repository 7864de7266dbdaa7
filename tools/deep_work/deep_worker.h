// `signalbox deep-work`: the worker of a deep_work station. It is a job like any other, under its
// shim, and a client of the service. It explores, plans and does the steps, each by the command
// that the station names, and reports to the service over the socket. All progress is in the
// service's log; this process keeps no state, so that after a crash the next attempt continues from
// there.
#pragma once

#include <optional>

namespace signalbox {

// Runs the work if argv is this internal command, and returns its exit code; else returns nothing.
// Blocks until the work has ended. Must be called before the process has threads.
std::optional<int> run_deep_work(int argc, char** argv);

}  // namespace signalbox
