// How the end of an attempt without success goes on: retry, next strategy, or the end of the run.
#pragma once

#include <string>

#include "domain/decide.h"

namespace signalbox {

enum class Retrying : std::uint8_t { by_policy, never };

// The events that end `run`'s attempt with `failure`: StationAttemptFailed where the retry policy
// allows another attempt, else StationFailed or StationTimedOut and RunFailed, in one commit.
NewEvents end_attempt(const Run& run, Failure failure, AttemptResult result, const Now& now,
                      Retrying retrying = Retrying::by_policy);

// The watchdog's word about `run`'s attempt, which comes before its end.
NewEvent watchdog_timed_out(const Run& run, std::int64_t elapsed_ms);

// The end of `run`'s attempt as its latest stall asks for (not a nudge).
NewEvents end_stalled_attempt(const Run& run, AttemptResult result, const Now& now);

// What its station says is to be done about stall number `stalls` (from 0) of an attempt.
StallAction stall_action(const StationDefinition& station, std::uint32_t stalls);

// How a failed attempt ended, as the next one is told (Run::previous). evolve: at most 1 KiB.
std::string previous_text(const Failure& failure, const AttemptResult& result);

}  // namespace signalbox
