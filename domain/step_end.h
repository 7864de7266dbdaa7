// How the attempts of a plan's steps end, and what that means for other steps: retry, next
// strategy, failure, blocked dependents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/decide.h"

namespace signalbox {

// The events that end the attempt of `step`, which runs, with `failure`: StepAttemptFailed where
// there is another attempt, with StepReady where that may begin at once; else StepFailed, and
// StepBlocked for each step that needs it. `run` is at a deep_work station and has a plan.
NewEvents end_step_attempt(const Run& run, const StepState& step, Failure failure, const Now& now);

// The same for each step whose attempt lasts as long as that of the station, which ends. None
// where the run has no plan.
NewEvents end_own_steps(const Run& run, const std::string& why, const Now& now);

// StepReopened for each failed or blocked step, where nothing else is left to do; else none.
NewEvents reopen_steps(const Run& run);

// Why the current station can't succeed yet: its code is TODO_INCOMPLETE. Nothing where it can.
std::optional<Failure> incomplete_todo(const Run& run);

}  // namespace signalbox
