// What becomes of each thing that was in flight when the service crashed: from the state that the
// log gives and from what is found of its jobs, never from its age.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "domain/world.h"
#include "server/executors/executor.h"

namespace signalbox {

// A verdict with what to look at next; the commands work when pasted.
struct CrashVerdict {
  RecoveredItem item;
  std::vector<std::string> next_commands;
};

// Asks the executor about the job of a run's attempt.
using JobLookUp = std::function<Executed<JobState>(const Run& run)>;

// Claims, jobs and steps of outside workers first (by run), then locks, then ticks (by name), then
// cards (by id).
std::vector<CrashVerdict> crash_verdicts(const World& world, const JobLookUp& look_up);

}  // namespace signalbox
