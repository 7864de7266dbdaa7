// Turns a finished job into its attempt's result: verdict, summary, log excerpt, stored artifacts.
#pragma once

#include <string>

#include "server/executors/executor.h"
#include "server/executors/job_directory.h"
#include "server/platform/artifact_store.h"

namespace signalbox {

// Reads the directory of a finished job and stores its artifacts, with `<station>_summary` and
// `runner_logs_excerpt`. The same directory gives the same result each time. Blocks on the disk.
// Errors: those of the disk; `damaged` if its result isn't one that a shim can have written.
Stored<JobResult> report_job(const Job& job, const JobDirectory& directory, ArtifactStore& store);

// Adds a line to the summary, whose text gives way to it.
void add_remark(JobResult& result, const std::string& remark);

// Adds that part of the job's output is lost, unless the summary says so already.
void note_lost_output(JobResult& result, const std::string& why);

}  // namespace signalbox
