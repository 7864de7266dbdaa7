// What the shells offer while a command line is typed. The completion scripts ask for it with
// `signalbox completion-offers INDEX WORD…`, so that all shells offer the same.
#pragma once

#include <optional>

#include "tools/cli/invocation.h"

namespace signalbox {

// Runs `completion-offers` if argv is that and returns its exit code, which is always 0; else
// returns nullopt. `app` has all commands.
//
// Prints a line for each offer: the word, a tab, and its description. Prints ":files" alone if file
// names are to be offered. Values such as the ids of runs come from the server that the words name;
// without an answer in completion_ms_max, and after any error, nothing is printed.
std::optional<int> run_completion_offers(ToolCommand app, Invocation& invocation, int argc,
                                         char** argv);

}  // namespace signalbox
