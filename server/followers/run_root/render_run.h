// A run as files: `manifest.json`, `run_config.json`, and for each attempt what it was asked
// (`prompts/`) and what it answered (`outputs/`). What the log knows, nothing else: the content of
// artifacts lies by its digest in <data>/artifacts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "projections/timeline.h"
#include "server/followers/run_root/file_change.h"

namespace signalbox {

// The manifest tells a run as of such an event: an attempt that is submitted, its end, the end of
// the run. In between it stays as it is.
bool is_manifest_moment(const Event& event);

// `records` are the run's from its RunStarted on; those after the latest manifest moment don't
// count. `root` is where the files go. Deterministic: the same records give the same bytes. The
// manifest comes last.
std::vector<FileChange> render_run(std::span<const Record> records,
                                   const PipelineDefinition& pipeline, const std::string& root);

}  // namespace signalbox
