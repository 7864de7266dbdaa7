#include "server/scheduler/job_pause.h"

#include <fcntl.h>

#include "server/executors/job_directory.h"
#include "store/file_descriptor.h"

namespace signalbox {

std::vector<JobPause> job_pauses_of(const World& world, const std::vector<Record>& records) {
  std::vector<JobPause> pauses;
  for (const Record& record : records) {
    const bool paused = event_as<RunPaused>(record.event) != nullptr;
    if (!paused && event_as<RunResumed>(record.event) == nullptr) continue;
    const Run* run = world.find_run(record.stream.run_id);
    if (run == nullptr || !run->attempt || run->attempt->job_id.empty()) continue;
    pauses.push_back({run->attempt->job_id, paused});
  }
  return pauses;
}

std::vector<JobPause> all_job_pauses(const World& world) {
  std::vector<JobPause> pauses;
  for (const auto& [id, run] : world.runs) {
    if (!run->attempt || run->attempt->job_id.empty()) continue;
    pauses.push_back({run->attempt->job_id, run->status == RunStatus::paused});
  }
  return pauses;
}

void set_job_pause(const std::filesystem::path& jobs, const JobPause& pause) {
  const std::filesystem::path file = JobDirectory{jobs / pause.job_id}.paused();
  if (pause.paused) {
    // O_NONBLOCK: a FIFO that a job put there isn't waited for.
    constexpr int pause_flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    // After a failure the watchdog's next tick tries again.
    (void)FileDescriptor(::open(file.c_str(), pause_flags, 0600));
  } else {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace signalbox
