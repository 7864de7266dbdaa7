// Signals to a job's supervisor that the run is paused, so that it doesn't enforce the timeout.
//
// The signal is a file in the job's directory, so that it also holds while the service is down.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/world.h"

namespace signalbox {

struct JobPause {
  std::string job_id;
  bool paused = false;
};

// Returns the pauses of jobs under way that the events of a commit change.
std::vector<JobPause> job_pauses_of(const World& world, const std::vector<Record>& records);

// Returns the pause of every job under way. Needed at a start, because a crash may come between an
// event and its file.
std::vector<JobPause> all_job_pauses(const World& world);

// Creates or removes the file, in the job's directory below `jobs`. Does nothing if the job has no
// directory (yet). Errors are ignored. Blocks.
void set_job_pause(const std::filesystem::path& jobs, const JobPause& pause);

}  // namespace signalbox
