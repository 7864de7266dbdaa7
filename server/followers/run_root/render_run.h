// Renders the files of a run: `manifest.json`, `run_config.json`, and for each attempt its prompt
// (`prompts/`) and its output (`outputs/`). They contain only what the log has; the content of
// artifacts lies by its digest in <data>/artifacts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "projections/timeline.h"
#include "server/followers/run_root/file_change.h"

namespace signalbox {

// Returns whether the manifest changes with this event: the submission of an attempt, its end, the
// end of the run. Between such events the manifest stays as it is.
bool is_manifest_moment(const Event& event);
// Returns the run whose manifest has to be written for this timeout, whether or not the run wants
// files; nil if the record is no timeout of a run.
RunId timed_out_run(const Record& record);

// Returns the run's files as changes, the manifest last; empty if no manifest moment is among
// `records`. `records` are the run's, from its RunStarted on; those after the latest manifest
// moment are ignored. `root` is the run root. Deterministic: the same records give the same bytes.
std::vector<FileChange> render_run(std::span<const Record> records,
                                   const PipelineDefinition& pipeline, const std::string& root);

}  // namespace signalbox
