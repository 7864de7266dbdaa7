// The command line as it was typed, for commands to try next: it has the same options, so that it
// is about the same.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/invocation.h"

namespace signalbox {

// Returns the words as one command that can be pasted.
std::string pasted_words(const std::vector<std::string>& words);

// An option of the typed command that isn't said again.
struct LeftOutOption {
  std::string name;        // "--limit"
  bool has_value = false;  // false: a flag
};

// Returns the command that was typed without these options, and with `more` words at its end.
std::string typed_command(const Invocation& invocation, const std::vector<std::string>& more,
                          const std::vector<LeftOutOption>& left_out = {});

}  // namespace signalbox
