// All files of one run's root, once more from the log: the same bytes that the writer wrote.
#pragma once

#include <string>
#include <vector>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_files.h"
#include "server/followers/run_root/run_root_projection.h"
#include "store/event_log.h"

namespace signalbox {

// One file as the log gives it, and how it lies on the disk.
struct RebuiltFile {
  enum class Found { same, missing, different };

  std::string path;  // below the root
  std::string bytes;
  Found found = Found::missing;
  std::string error;  // why it couldn't be written, or ""
};

class RunRootRebuild {
 public:
  RunRootRebuild(const EventLog& log, const RunFiles& run_files, RunId run_id)
      : log_(log), run_files_(run_files), run_id_(run_id), projection_({}, run_files.runs()) {}

  // Takes the log in up to `position`. To be called again with a later one, so that the long way
  // can be gone without the writer waiting. `not_found` for an unknown run.
  Stored<void> advance(Position position);

  // What is there so far; `write` brings back what isn't as it should be, and removes nothing.
  [[nodiscard]] std::vector<RebuiltFile> finish(bool write) const;

  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  const EventLog& log_;
  const RunFiles& run_files_;
  const RunId run_id_;
  RunRootProjection projection_;
  std::string root_;
  Position taken_ = 0;
  std::vector<FileChange> run_changes_;
  RunRootBacklog files_;
};

}  // namespace signalbox
