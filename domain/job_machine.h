// Says whether the job of an attempt was given to the machine that asks, or to another one, whose
// log this one is a copy of. Everybody who decides about such a job asks here, so that the crash
// report, `run.why` and `station.settle` never contradict each other.
#pragma once

#include <string>

#include "domain/run.h"

namespace signalbox {

// Returns whether the job of the run's attempt was given to another machine than `machine`. False
// without a job, and for a remote one: its endpoint executes it once, whoever asks, and so does a
// runner (placement.h).
//
// A record of an earlier version names no machine. Its job is then here only if `has_directory`,
// that is if the job's directory is: otherwise nobody knows whether it runs somewhere, and it must
// not be executed a second time.
[[nodiscard]] bool is_job_elsewhere(const Run& run, const std::string& machine, bool has_directory);

// Returns a sentence about an attempt whose job is elsewhere.
[[nodiscard]] std::string job_elsewhere_text(const Attempt& attempt);

}  // namespace signalbox
