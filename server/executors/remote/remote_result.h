// Turns the result that a remote job's endpoint returns into the result of its station.
#pragma once

#include <string>

#include "server/executors/executor.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Returns the result. `text` is the body of the endpoint's 200 (JOBS.md, "Remote jobs"); an invalid
// one becomes a failure of class terminal, RESULT_INVALID. Stores the artifacts. Errors: those of
// the store. The same text gives the same result.
Stored<JobResult> report_remote_job(const Job& job, const std::string& call_id,
                                    const std::string& text, ArtifactStore& store);

// Returns such a text for a canceled job. With `unconfirmed`, the endpoint never confirmed that the
// job has ended.
std::string canceled_remote_result(const std::string& call_id, bool unconfirmed);

// Returns such a text for a job about which the endpoint answers nothing but this refusal.
std::string refused_remote_result(const ExecutorError& refusal);

}  // namespace signalbox
