// Derives the changes in run roots from records: a pure fold. Live writing, recovery after a crash
// and a rebuild use the same one, so deleted files come back with the same bytes.
//
// It covers locks, ticks and timeouts only. The files of a run as a whole are rendered from its
// timeline (render_run.h).
#pragma once

#include <filesystem>
#include <vector>

#include "domain/event.h"
#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

class RunRootProjection {
 public:
  // Continues from `state`. `runs` is <data>/runs.
  RunRootProjection(RunRootState state, std::filesystem::path runs)
      : state_(std::move(state)), runs_(std::move(runs)) {}

  // Returns whether the record may change a file. Other records needn't be applied.
  static bool concerns(const Record& record);

  // Applies a record and returns the changes that follow. To be called in the order of the log.
  std::vector<FileChange> apply(const Record& record);

  // Takes the texts of locks and ticks that `present` has as well: some were redacted. Files that
  // exist aren't changed.
  void take_texts(const RunRootState& present);

  // Returns the files that have to exist in the current state: the `.lock` and the marker of each
  // root that has one. The changes carry `position`.
  [[nodiscard]] std::vector<FileChange> present(Position position) const;

  [[nodiscard]] const RunRootState& state() const { return state_; }
  [[nodiscard]] const std::filesystem::path& runs() const { return runs_; }

 private:
  RunRootState state_;
  std::filesystem::path runs_;
};

}  // namespace signalbox
