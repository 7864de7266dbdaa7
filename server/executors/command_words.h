// The words of a command that may name what it runs, found without running it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

// Returns the words of each part of the command: of its arguments, or, of a shell that only runs a
// text (`sh -c`), those of each text between `&&` and `||`. What is quoted, or beside a variable,
// is a word too: "lint.sh" of "$here/lint.sh". The words refer to the command.
std::vector<std::vector<std::string_view>> words_of_parts(const std::vector<std::string>& command);

}  // namespace signalbox
