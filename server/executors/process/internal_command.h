// Internal commands of this binary, which Signalbox runs itself: `shim`, and the commands of
// stations of the kinds `builtin`, `coderunner` and `checks`, which run under the shim.
#pragma once

#include <optional>

namespace signalbox {

// Runs argv if it is an internal command and returns its exit code; else returns nullopt. main()
// calls this first, before it has threads or state.
std::optional<int> run_internal_command(int argc, char** argv);

}  // namespace signalbox
