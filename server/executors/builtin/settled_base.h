// What a station has settled of its base before the repository is pinned, so that it goes on with
// the same after a kill: files of the run root, which agents can write. Once the repository is
// pinned, nobody reads them.
#pragma once

#include <string>

#include "server/executors/builtin/builtin_station.h"
#include "store/store_error.h"

namespace signalbox {

// Returns the line that write_settled() wrote under this name for the request's run; empty if there
// is none. Several runs may have one run root: what is another one's isn't returned.
std::string read_settled(const BuiltinRequest& request, const std::string& name);

// Writes the line, and the run whose it is.
Stored<void> write_settled(const BuiltinRequest& request, const std::string& name,
                           const std::string& line);

}  // namespace signalbox
