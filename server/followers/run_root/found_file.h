// Reads a file of a run root as it is found, and decides whether a found file may be removed.
//
// A run root belongs to its user, so anything may lie there. That is why reading never fails: what
// can't be read is a result of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_place.h"
#include "store/event_log.h"

namespace signalbox {

struct FoundFile {
  enum class Kind : std::uint8_t { none, content, unreadable };

  Kind kind = Kind::none;
  std::string content;
  std::string problem;              // unreadable: "a directory", "too large: …", …
  std::int64_t modified_at_ns = 0;  // UTC nanoseconds; 0: unknown
};

// Reads a file as read_found_file() does; tests and the simulator give their own.
using ReadFoundFile =
    std::function<FoundFile(const std::filesystem::path& path, std::size_t bytes_max)>;

// Reads the lock file or the marker of a run root, `path` (absolute), by the way that a write takes
// to it (find_root_file()): a file that lies behind a link is unreadable. Doesn't wait for a pipe,
// and reads at most `bytes_max`: a larger file is unreadable. `rule` has the configured
// directories; nullptr: there are none. Blocks. Any thread.
FoundFile read_found_file_below(const RunRootRule* rule, const std::filesystem::path& path,
                                std::size_t bytes_max);
// The same without configured directories.
FoundFile read_found_file(const std::filesystem::path& path, std::size_t bytes_max);
// Returns a function that reads such files below the directories of `rule`.
ReadFoundFile found_file_reader(std::shared_ptr<const RunRootRule> rule);

// Returns whether `removal` (of kind remove) may be carried out on `found`, the file at its path.
//
// Programs that don't use this service take locks and leave markers by writing the file. After a
// crash, old removals are carried out late. The file may be another holder's by then, and without
// it two would hold the same lock.
//
// A `.lock` or a marker belongs to this service if it describes a grant or a tick that the log has.
// A marker on which a loop halted may also be removed if the halt's event has the same text. Blocks
// (reads the log). Any thread.
bool may_remove(const EventLog& log, const FileChange& removal, const FoundFile& found);

}  // namespace signalbox
