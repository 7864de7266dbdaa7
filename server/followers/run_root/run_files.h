// Which runs have files of their own, and what these are: manifest, configuration, prompts,
// outputs.
//
// A run whose stations are all done by outside workers, without a run root that somebody named,
// gets none by itself: it would pay two fsyncs for each of its stations, and nobody looks there.
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
  // `runs` is <data>/runs.
  RunFiles(const EventLog& log, Projector& projector, std::filesystem::path runs)
      : log_(log), projector_(projector), runs_(std::move(runs)) {}

  static bool wanted(const std::string& named_root, const PipelineDefinition& pipeline);

  struct Rendered {
    std::string root;
    Position started_position = 0;
    bool named_root = false;
    std::vector<FileChange> changes;
  };
  // Of a run as of its latest manifest moment up to `position` or later. Waits for the read models.
  // Nothing for an unknown run or, with `only_if_it_has_any`, for one that has no files so far and
  // wants none. Any thread but the projector's.
  [[nodiscard]] Stored<std::optional<Rendered>> render(const RunId& run_id, Position position,
                                                       bool only_if_it_has_any) const;

  [[nodiscard]] const std::filesystem::path& runs() const { return runs_; }

 private:
  const EventLog& log_;
  Projector& projector_;
  std::filesystem::path runs_;
};

}  // namespace signalbox
