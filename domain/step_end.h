// The retry policy of a plan's steps: what follows the end of a step's attempt, for the step and
// for its dependents. That is a retry, the next strategy, or failure with blocked dependents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/decide.h"

namespace signalbox {

// Returns the events that end the attempt of `step`, which is running, with `failure`. If another
// attempt follows, that is StepAttemptFailed, and StepReady if it may begin at once. Else it is
// StepFailed, and StepBlocked for each pending step that depends on it. `run` is at a deep_work
// station with a plan.
NewEvents end_step_attempt(const Run& run, const StepState& step, Failure failure, const Now& now);

// Returns the same for each running step without a lease, whose attempt ends with that of the
// station. No events if the run has no plan. `why` is the reason that the failure's message names.
NewEvents end_own_steps(const Run& run, const std::string& why, const Now& now);

// Returns StepReopened for each failed or blocked step if no other step is left to do, else no
// events.
NewEvents reopen_steps(const Run& run);

// Returns why the current station can't succeed yet, with code TODO_INCOMPLETE, or nullopt if it
// can.
std::optional<Failure> incomplete_todo(const Run& run);

}  // namespace signalbox
