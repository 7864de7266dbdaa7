// Completion scripts, generated from the commands themselves so that they can't fall behind.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace signalbox {

// For bash: nouns, verbs, options, the values of options that have a fixed set, and files for the
// rest.
std::string bash_completion(const CLI::App& app);

}  // namespace signalbox
