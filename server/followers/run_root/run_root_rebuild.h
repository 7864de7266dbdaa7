// Rebuilds all files of one run's root from the log, with the same bytes that the writer wrote.
#pragma once

#include <string>
#include <vector>

#include "server/followers/run_root/file_change.h"
#include "server/followers/run_root/run_files.h"
#include "server/followers/run_root/run_root_place.h"
#include "server/followers/run_root/run_root_projection.h"
#include "store/event_log.h"

namespace signalbox {

// One file as the log has it, and how the disk compares.
struct RebuiltFile {
  enum class Found { same, missing, different };

  std::string path;  // relative to the root
  std::string bytes;
  Found found = Found::missing;
  std::string error;  // why it couldn't be written, or ""
};

class RunRootRebuild {
 public:
  RunRootRebuild(const EventLog& log, const RunFiles& run_files, RunId run_id)
      : log_(log), run_files_(run_files), run_id_(run_id), projection_({}, run_files.runs()) {}

  // Applies the log up to `position`. May be called again with a later position: the first call
  // does most of the work, so the writer has to wait only for the second. Fails with `not_found`
  // for an unknown run, and as the log and RunFiles::render() do. Blocks.
  Stored<void> advance(Position position);

  // Compares the files as of the latest advance() with the disk and returns them all. With `write`,
  // writes those that are missing or different; it never removes a file. `rule` is as for
  // apply_change(). Blocks.
  [[nodiscard]] std::vector<RebuiltFile> finish(bool write,
                                                const RunRootRule* rule = nullptr) const;

  // Returns the run root; empty before advance().
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  const EventLog& log_;
  const RunFiles& run_files_;
  const RunId run_id_;
  RunRootProjection projection_;
  std::string root_;
  Position applied_ = 0;
  std::vector<FileChange> run_changes_;
  RunRootBacklog files_;
};

}  // namespace signalbox
