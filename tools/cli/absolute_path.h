// Paths in options whose meaning mustn't depend on the server's working directory.
#pragma once

#include <string>

#include "tools/cli/call_error.h"

namespace signalbox {

// Returns the path that was given with `option` as an absolute one without "." and "..". Fails with
// a usage error for an empty path, and for a relative one in a working directory that is gone.
Called<std::string> absolute_path(const std::string& option, const std::string& path);

}  // namespace signalbox
