// The runs whose files have a text that was erased: what may be done with such a file depends on
// what the log says of its run.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.h"
#include "store/rocks_event_log.h"
#include "tools/audit/erased_text_search.h"

namespace signalbox {

// Returns the run that a file below `data` belongs to: one in its run root, runs/RUN, or in the
// directory of one of its jobs, jobs/JOB; else nullopt.
std::optional<RunId> run_of_file(const std::filesystem::path& file,
                                 const std::filesystem::path& data);

// The job that a run has under way; empty: none. A run that isn't in the map isn't in the log: a
// retention has dropped it.
using JobsOfRuns = std::map<RunId, std::string>;

// Reads from the log what it has of the runs of these files.
Called<JobsOfRuns> jobs_of_runs(const RocksEventLog& log, const std::vector<RemainingPlace>& places,
                                const std::filesystem::path& data);

}  // namespace signalbox
