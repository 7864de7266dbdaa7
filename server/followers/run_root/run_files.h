// Decides which runs have files of their own (manifest, configuration, prompts, outputs), and
// renders them from the log.
//
// A run gets no files if outside workers do all of its stations and no run root was named. It would
// pay two fsyncs for each of its stations for files without a reader.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/run.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/file_change.h"
#include "store/event_log.h"

namespace signalbox {

class RunFiles {
 public:
  // `log` and `projector` outlive it. `runs` is <data>/runs.
  RunFiles(const EventLog& log, Projector& projector, std::filesystem::path runs)
      : log_(log), projector_(projector), runs_(std::move(runs)) {}

  // Returns whether a run of `pipeline` gets files; `named_root` is the run root that was named, or
  // empty.
  static bool wanted(const std::string& named_root, const PipelineDefinition& pipeline);

  struct Rendered {
    std::string root;
    Position started_position = 0;
    bool named_root = false;  // the run root was named by a caller
    std::vector<FileChange> changes;
  };
  // Returns the files of a run as of its latest manifest moment up to `position` or later. Returns
  // nullopt for an unknown run and, with `only_if_wanted`, for one that has no files so far and
  // wants none. Fails with `io` if the read models can't catch up, with `damaged` if they lack the
  // run's start or pipeline, and as the log does. Blocks until the read models have `position`. Any
  // thread but the projector's.
  [[nodiscard]] Stored<std::optional<Rendered>> render(const RunId& run_id, Position position,
                                                       bool only_if_wanted) const;

  [[nodiscard]] const std::filesystem::path& runs() const { return runs_; }

 private:
  const EventLog& log_;
  Projector& projector_;
  std::filesystem::path runs_;
};

}  // namespace signalbox
