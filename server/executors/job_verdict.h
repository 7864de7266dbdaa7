// Decides what the end of a job means for its station: a pure function of the shim's facts and of
// the job's declared result. There is exactly one form of success; everything else is a failure
// with a class.
#pragma once

#include <string>

#include "domain/pipeline.h"
#include "domain/station_events.h"
#include "server/executors/declared_result.h"
#include "server/executors/job_directory.h"

namespace signalbox {

struct JobVerdict {
  Outcome outcome = Outcome::failed;
  Failure failure;  // meaningful unless outcome is succeeded
};

// Returns the outcome. `declared` is `not_found` if the job left no result.json, and `damaged` if
// it is invalid. A declared result can describe an exit code other than 0 and can turn exit 0 into
// a failure. It can't turn anything into a success. `last_lines` of the job's output explain an
// exit code that the job itself doesn't explain.
JobVerdict job_verdict(const StationDefinition& definition, const ShimResult& facts,
                       const Stored<DeclaredResult>& declared, const std::string& last_lines);

}  // namespace signalbox
