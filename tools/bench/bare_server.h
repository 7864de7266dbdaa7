// Serves the bare path on a Unix socket.
#pragma once

#include <filesystem>

#include "tools/cli/call_error.h"

namespace signalbox {

// Serves on `socket` with one thread until the process is ended, and keeps the records in the file
// `records` in `data`. All requests that have arrived together are decided, then their records are
// written and synced (fdatasync), then the replies leave. Returns only if something fails.
Called<void> serve_bare_path(const std::filesystem::path& data,
                             const std::filesystem::path& socket);

}  // namespace signalbox
