// `signalbox deep-work`: what does the work of a deep_work station. A job like any other, under its
// shim, and a client of the service: it explores, plans and does the steps, each by the command
// that its station names, and says so over the socket. All that is done is in the service's
// register; this process keeps nothing, and where it dies the next attempt goes on from there.
#pragma once

#include <optional>

namespace signalbox {

// The exit code if argv is that command, which people don't run. Blocks until the work is over.
// Must be called before the process has threads.
std::optional<int> run_deep_work(int argc, char** argv);

}  // namespace signalbox
