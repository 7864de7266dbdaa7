// Renders the checkpoint of a timeout: what was under way when a station or a tick ran out of time,
// for people (Markdown) and for programs (JSON, schema `timeout_checkpoint.v1`). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "domain/event.h"
#include "server/followers/run_root/file_change.h"

namespace signalbox {

// Returns both files of a station's timeout in run root `root`. `record` holds `event`.
std::vector<FileChange> render_timeout(const Record& record, const WatchdogTimedOut& event,
                                       const std::string& root);
// Returns both files of a tick's timeout in run root `root`. `record` holds `event`.
std::vector<FileChange> render_timeout(const Record& record, const TickTimedOut& event,
                                       const std::string& root);

}  // namespace signalbox
