// A finished job as the result of its attempt: verdict, summary, log excerpt, stored artifacts.
#pragma once

#include "server/executors/executor.h"
#include "server/executors/job_directory.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Reads the directory of a finished job and stores what it left, with `<station>_summary` and
// `runner_logs_excerpt`. The same directory gives the same report each time.
Stored<JobResult> report_job(const Job& job, const JobDirectory& directory, ArtifactStore& store);

}  // namespace signalbox
