// The options that were typed to say which service is meant, for commands that are shown: pasted,
// they go to the same service.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// As typed; empty: not typed. What the environment says isn't among them, since it is there for the
// pasted command, too.
struct ConnectionOptions {
  std::string data;
  std::string socket;
  std::string server;
  std::string ca;
  std::string token_file;
};

// Puts the options behind the program's name in each command of Signalbox in the text. A command
// begins the text, or follows a backquote or a colon. One that names a service or a data directory
// itself, or that needs none, stays as it is, and one that reads the data directory gets no option
// about a connection. Returns the text unchanged if nothing was typed.
std::string with_connection(std::string text, const ConnectionOptions& typed);

}  // namespace signalbox
