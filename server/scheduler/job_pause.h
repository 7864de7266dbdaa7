// Tells a job's supervisor that the run is paused: then it doesn't end the job for its time.
//
// It is a file in the job's directory, so that it holds whatever becomes of the service.
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

// What the events of a commit change for jobs under way.
std::vector<JobPause> job_pauses_of(const World& world, const std::vector<Record>& records);

// How it should be of every job under way: a crash may come between an event and its file.
std::vector<JobPause> all_job_pauses(const World& world);

// Makes or removes the file. Nothing happens where the job has no directory (yet). Blocks.
void set_job_pause(const std::filesystem::path& jobs, const JobPause& pause);

}  // namespace signalbox
