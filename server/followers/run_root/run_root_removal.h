// Removes from a run root that a client named what the service wrote there, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/followers/run_root/run_files.h"

namespace signalbox {

struct RemovedRunFiles {
  std::uint64_t bytes = 0;
  std::vector<std::string> changed;  // paths of files that aren't as the service wrote them: kept
  std::string error;                 // why one of the others couldn't be removed, or empty
};

// Removes the files of the run (manifest, configuration, prompts, outputs) that still have the
// content that follows from the log, and the directories that are empty then, but not the root. No
// symbolic link below the root is followed. If `is_dry`, only says what would be done. The run must
// have ended. Files of locks and ticks stay, because others may have the root as well. Fails as
// RunFiles::render(). Blocks. Any thread but the projector's.
Stored<RemovedRunFiles> remove_run_files(const RunFiles& run_files, const RunId& run_id,
                                         Position position, bool is_dry);

}  // namespace signalbox
