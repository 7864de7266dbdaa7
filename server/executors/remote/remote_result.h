// What a remote job says of itself when it is over, as the result of its station.
#pragma once

#include <string>

#include "server/executors/executor.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// `text` is the body of the endpoint's 200 (JOBS.md, "Remote jobs"). What isn't such a result is a
// failure of class terminal, RESULT_INVALID. Stores the artifacts; errors are those of the store.
// The same text gives the same result.
Stored<JobResult> report_remote_job(const Job& job, const std::string& call_id,
                                    const std::string& text, ArtifactStore& store);

// Such a text about a job that was canceled; `unconfirmed` if the endpoint never said that it is
// gone.
std::string canceled_remote_result(const std::string& call_id, bool unconfirmed);

}  // namespace signalbox
