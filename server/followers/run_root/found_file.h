// A file of a run root as it is found: a run root belongs to its user, so anything may lie there,
// and looking never fails. And whether one that is to be removed is the one that the log means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "server/followers/run_root/file_change.h"
#include "store/event_log.h"

namespace signalbox {

struct FoundFile {
  enum class Kind : std::uint8_t { none, content, unreadable };

  Kind kind = Kind::none;
  std::string content;
  std::string problem;              // unreadable: "a directory", "too large: …", …
  std::int64_t modified_at_ns = 0;  // UTC; 0: unknown
};

using LookAtFile =
    std::function<FoundFile(const std::filesystem::path& path, std::size_t bytes_max)>;

// Looks at `path` (absolute) on the disk. Follows no symbolic link, waits for no pipe, and reads at
// most `bytes_max`. Blocks. Any thread.
FoundFile look_at_file(const std::filesystem::path& path, std::size_t bytes_max);

// Others take locks and leave markers by the file alone. After a crash old removals are carried out
// late: what lies there by then may be somebody else's, and without it two would hold one thing.
//
// `removal` is of kind remove, `found` what lies at its place. A `.lock` and a marker are ours if
// they tell of a grant or a tick that the log has; and a marker that a loop halted on is the one
// that the halt tells of. Blocks (reads the log). Any thread.
bool may_remove(const EventLog& log, const FileChange& removal, const FoundFile& found);

}  // namespace signalbox
