// The commands of this binary that Signalbox runs itself and people don't: `shim`, and what
// stations of the kinds `builtin`, `coderunner` and `checks` run under it.
#pragma once

#include <optional>

namespace signalbox {

// The exit code, if argv is one of them. main calls this first, before it has threads or state.
std::optional<int> run_internal_command(int argc, char** argv);

}  // namespace signalbox
