// The command line as it was typed, for commands to try next: it has the same options, so that it
// is about the same.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/invocation.h"

namespace signalbox {

// Returns the words as one command that can be pasted.
std::string pasted_words(const std::vector<std::string>& words);

// Returns the command that was typed, with `more` words at its end, and without the option
// `left_out`, which `has_value` or is a flag; empty: nothing is left out.
std::string typed_command(const Invocation& invocation, const std::vector<std::string>& more,
                          const std::string& left_out = {}, bool has_value = false);

}  // namespace signalbox
