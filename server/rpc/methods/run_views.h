// The results of queries about runs, from the read models and the run's own events. All functions
// but artifact_content() are called on the projector's thread.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/station_events.h"
#include "projections/run_index.h"
#include "server/platform/artifact_store.h"
#include "server/rpc/api.h"

namespace signalbox {

// Returns the result of `run.get`. RUN_NOT_FOUND or STORAGE_DAMAGED.
Decided<boost::json::object> run_view(const Api& api, const RunIndex& index, const RunId& run_id);

// An artifact, and where its content is.
struct FoundArtifact {
  Artifact artifact;
  ArtifactPlace place;
};

// Returns the artifact of this name of the newest attempt that has one. ARTIFACT_NOT_FOUND, and the
// errors of run_view().
Decided<FoundArtifact> find_artifact(const Api& api, const RunIndex& index, const RunId& run_id,
                                     const std::string& name);
// Returns the result of `run.artifact` for it. FILES_REMOVED, STORAGE_DAMAGED or STORAGE_AWAY.
// Blocks; called by run_artifact_work().
Decided<boost::json::object> artifact_content(const Api& api, const RunId& run_id,
                                              const FoundArtifact& found);

}  // namespace signalbox
