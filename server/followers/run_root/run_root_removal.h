// Removes from a run root that a client named what the service wrote there, and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "server/followers/run_root/run_files.h"
#include "server/followers/run_root/run_root_place.h"

namespace signalbox {

struct RemovedRunFiles {
  std::uint64_t bytes = 0;
  std::vector<std::string> changed;  // paths of files that aren't as the service wrote them: kept
  std::string error;                 // why one of the others couldn't be removed, or empty
};

// Removes the files of an ended run (manifest, configuration, prompts, outputs) that still have the
// content that follows from the log, and the directories that are empty then, but not the root. No
// symbolic link is followed that a write wouldn't follow (run_root_disk.h), and a root that leads
// into the data directory by now is left alone. If `is_dry`, only says what would be done. Files of
// locks and ticks stay, because others may have the root as well. `data` is the data directory,
// `rule` has the configured directories; nullptr: there are none. Blocks on the disk of the root.
// Any thread.
RemovedRunFiles remove_run_files(const RunFiles::Rendered& rendered,
                                 const std::filesystem::path& data, const RunRootRule* rule,
                                 bool is_dry);

}  // namespace signalbox
