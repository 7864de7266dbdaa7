// What was going on when something ran out of time, for people (Markdown) and for programs (schema
// `timeout_checkpoint.v1`).
#pragma once

#include <string>
#include <vector>

#include "domain/event.h"
#include "server/followers/run_root/file_change.h"

namespace signalbox {

// Both files of a station's timeout in `root`.
std::vector<FileChange> render_timeout(const Record& record, const WatchdogTimedOut& event,
                                       const std::string& root);
// And of a tick's.
std::vector<FileChange> render_timeout(const Record& record, const TickTimedOut& event,
                                       const std::string& root);

}  // namespace signalbox
