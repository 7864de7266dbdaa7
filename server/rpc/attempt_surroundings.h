// What this service knows of an attempt's job beyond the log (domain/attempt_wait.h).
#pragma once

#include <cstdint>
#include <string>

#include "domain/attempt_wait.h"
#include "projections/attention.h"

namespace signalbox {

struct Api;

// Returns what is known about the job of the run's attempt, which it must have. A failed call is
// shown for limits::job_trouble_shown_ms_max: calls are repeated, and only failures are noted.
// Called on the engine's thread.
AttemptSurroundings attempt_surroundings(const Api& api, const Run& run);

// A local job that can't be asked for that long waits for a person.
inline constexpr std::int64_t job_trouble_waits_ms_min = 5000;

// Returns the error with which the executor has failed for that long, and still does, whenever it
// is asked about the run's attempt, which must have a job; or "". Also "" for a remote job: its
// endpoint may be away for a while. Called on the engine's thread.
std::string lasting_job_trouble(const Api& api, const Run& run);

// Returns the bounds of what waits for a person now, with what this service knows of jobs. It is
// used on the engine's thread.
AttentionBounds attention_bounds(const Api& api);

}  // namespace signalbox
