// What a record changes in run roots: a pure fold. Live, after a crash and in a rebuild it is the
// same one, so that files that were deleted come back with the same bytes.
//
// Of locks, ticks and timeouts only. What is told of a run as a whole is rendered from its timeline
// (render_run.h).
#pragma once

#include <filesystem>
#include <vector>

#include "domain/event.h"
#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

class RunRootProjection {
 public:
  // `runs` is <data>/runs.
  RunRootProjection(RunRootState state, std::filesystem::path runs)
      : state_(std::move(state)), runs_(std::move(runs)) {}

  // The record may change a file. Others needn't be applied.
  static bool concerns(const Record& record);

  // In the order of the log.
  std::vector<FileChange> apply(const Record& record);

  // The files that must be there as long as the state is as it is: `.lock` and the marker of each
  // root that has one.
  [[nodiscard]] std::vector<FileChange> present(Position position) const;

  [[nodiscard]] const RunRootState& state() const { return state_; }
  [[nodiscard]] const std::filesystem::path& runs() const { return runs_; }

 private:
  RunRootState state_;
  std::filesystem::path runs_;
};

}  // namespace signalbox
