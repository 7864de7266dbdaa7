// What the end of a job means for its station: a pure function of the shim's facts and of what the
// job says of itself. Success has one form only; everything else is a failure with a class.
#pragma once

#include "domain/pipeline.h"
#include "domain/station_events.h"
#include "server/executors/declared_result.h"
#include "server/executors/job_directory.h"

namespace signalbox {

struct JobVerdict {
  Outcome outcome = Outcome::failed;
  Failure failure;  // meaningful unless outcome is succeeded
};

// `declared` is `not_found` where the job left no result.json, and `damaged` where it is invalid.
// What a job says can describe an exit other than 0 and can turn exit 0 into a failure; it can't
// turn anything into a success.
JobVerdict job_verdict(const StationDefinition& definition, const ShimResult& facts,
                       const Stored<DeclaredResult>& declared);

}  // namespace signalbox
