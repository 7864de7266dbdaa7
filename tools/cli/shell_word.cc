#include "tools/cli/shell_word.h"

namespace signalbox {

std::string for_the_shell(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace signalbox
