// A station's retry policy as its definition names it, and why an attempt isn't followed by
// another. Apart from attempt_end.h because queries explain decisions with the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "domain/pipeline.h"
#include "domain/station_events.h"

namespace signalbox {

// Sets max_retries as a definition that names it.
void name_max_retries(RetryPolicy& policy, std::uint32_t max_retries);

// Returns whether a terminal failure with the last strategy is followed by another attempt with it,
// within max_retries: where somebody asked for retries, of the station or of the run
// (`run_max_retries`). It is false for a built-in station, whose next attempt would find the same,
// and a run's own number is that of the steps of deep work.
bool repeats_last_strategy(const StationDefinition& station,
                           std::optional<std::uint32_t> run_max_retries);

// How a station ended by failure.
struct StationEnd {
  const StationDefinition& station;
  std::optional<std::uint32_t> run_max_retries;  // overrides the station's
  const Failure& failure;                        // of the last attempt
  std::uint32_t failures = 0;  // failed attempts since the run's start or retry, the last included
  bool was_rejected = false;   // by a person
  bool was_stalled = false;    // a stall's action ended the station
};

// Returns why no attempt followed: a clause such as "4 attempts have failed, and max_retries is 3".
std::string not_retried_text(const StationEnd& end);

}  // namespace signalbox
