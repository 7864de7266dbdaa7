// How the end of an attempt without success goes on: retry, next strategy, or the end of the run.
#pragma once

#include "domain/decide.h"

namespace signalbox {

// The events that end `run`'s attempt with `failure`: StationAttemptFailed where the retry policy
// allows another attempt, else StationFailed or StationTimedOut and RunFailed, in one commit.
NewEvents end_attempt(const Run& run, Failure failure, AttemptResult result, const Now& now);

}  // namespace signalbox
