// How far the files of run roots have followed the log, and the state there: a small file,
// <data>/projections/run_roots.json. Without it the files follow from the present on.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "server/followers/run_root/run_root_state.h"
#include "store/store_error.h"

namespace signalbox {

struct RunRootProgress {
  Position position = 0;
  RunRootState state;
  std::vector<RunId> runs;  // whose manifest is behind
};

Stored<void> save_progress(const std::filesystem::path& file, const RunRootProgress& progress);

// Nothing if it isn't there, can't be read, or is ahead of `tail`.
std::optional<RunRootProgress> load_progress(const std::filesystem::path& file, Position tail);

}  // namespace signalbox
