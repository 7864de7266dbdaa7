// `signalbox runner`: executes jobs of a service on this machine.
#pragma once

#include "tools/cli/invocation.h"

namespace signalbox {

// Adds the options and the action of the command itself; its subcommands are added elsewhere.
void add_runner_options(ToolCommand runner, Invocation& invocation);

}  // namespace signalbox
