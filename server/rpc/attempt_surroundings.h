// What this service knows of an attempt's job beyond the log (domain/attempt_wait.h).
#pragma once

#include "domain/attempt_wait.h"

namespace signalbox {

struct Api;

// Returns what is known about the job of the run's attempt, which it must have. A failed call is
// shown for limits::job_trouble_shown_ms_max: calls are repeated, and only failures are noted.
// Called on the engine's thread.
AttemptSurroundings attempt_surroundings(const Api& api, const Run& run);

}  // namespace signalbox
