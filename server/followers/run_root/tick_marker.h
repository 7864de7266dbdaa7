// `logs/tick-in-progress.json` in a run root, as a begin finds it: written for a tick of this log,
// by somebody else, or nothing that can be read.
#pragma once

#include <filesystem>
#include <string>

#include "domain/command.h"
#include "server/followers/run_root/found_file.h"
#include "store/event_log.h"

namespace signalbox {

std::filesystem::path tick_marker_path(const std::filesystem::path& run_root);

struct TickMarker {
  FoundMarker found;
  std::string problem;  // of an unreadable one: why, for a person
};

// Looks at the marker of `run_root` (absolute). It is `known` if the log has the TickStarted that
// it tells of, foreign if it tells of another, and unreadable if it isn't a file of at most
// limits::marker_bytes_max bytes that holds a JSON object with ts, stage and reason. Its age is
// counted from its ts, else from the file's own time. Blocks; any thread.
TickMarker look_at_tick_marker(const std::filesystem::path& run_root, const EventLog& log,
                               std::int64_t wall_ns, const ReadFoundFile& look = read_found_file);

}  // namespace signalbox
