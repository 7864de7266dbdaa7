// Why no runner executes a run's ready station.
#pragma once

#include <span>
#include <string>

#include "domain/run.h"

namespace signalbox {

struct RunnerView;

struct RunnerWait {
  std::string text;          // a clause; empty: the service itself executes it
  std::string unblocked_by;  // what has to happen
  bool is_for_slot = false;  // that happens by itself: a job ends
};

// Returns what the run waits for, as far as runners are concerned: the one that has its workspace,
// or one with the labels that it asks for.
RunnerWait why_no_runner(const Run& run, std::span<const RunnerView> runners);

}  // namespace signalbox
