// Reads `logs/tick-in-progress.json` of a run root when a tick begins: it may belong to a tick of
// this log, to another program, or be unreadable.
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
  std::string problem;  // why it is unreadable, for a person
};

// Reads the marker of `run_root` (absolute) with `read_file`. It is `known` if the log has the
// TickStarted that it describes, `foreign` if not. It is `unreadable` if it isn't a file of at most
// limits::marker_bytes_max bytes with a JSON object that has ts, stage and reason. Its age at
// `wall_ns` (UTC) is counted from its ts, else from the file's modification time; it is unknown
// (-1) if that lies in the future. Blocks. Any thread.
TickMarker read_tick_marker(const std::filesystem::path& run_root, const EventLog& log,
                            std::int64_t wall_ns, const ReadFoundFile& read_file = read_found_file);

}  // namespace signalbox
