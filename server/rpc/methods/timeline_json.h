// Runs and their timelines as JSON for clients.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <boost/json/object.hpp>

#include "projections/run_row.h"
#include "projections/timeline.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Returns the run's artifacts by their names; of those with one name, that of the newest attempt.
// They point into the timeline.
std::map<std::string, const Artifact*> current_artifacts(const RunTimeline& timeline);

// Returns where the content is of an artifact that is in the timeline.
ArtifactPlace place_in(const RunTimeline& timeline, const Artifact& artifact);

// Returns a run as `run.list` shows it.
boost::json::object row_to_json(const RunRow& row);

// Returns a run as `run.get` shows it. `path_of` returns the path of the file that
// has an artifact, and may change what is shown of the place.
boost::json::object timeline_to_json(const RunRow& row, const RunTimeline& timeline,
                                     const std::string& run_root,
                                     const std::function<std::string(ArtifactPlace&)>& path_of);

}  // namespace signalbox
