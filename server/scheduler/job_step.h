// What is next for a job: looked up, submitted if it isn't there, polled, its result fetched,
// cancelled. One step at a time, without threads and clocks, so that a simulation takes the very
// same steps at moments of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/executors/executor.h"

namespace signalbox {

struct JobReports {
  // The executor's own id of the job is known.
  std::function<void(const Job& job, const std::string& external_ref)> submitted;
  // The job is over. `canceled` results mean that nothing of it is left but escaped_pids.
  std::function<void(const Job& job, const JobResult& result)> finished;
  // The executor couldn't be asked; it is asked again.
  std::function<void(const Job& job, const ExecutorError& error)> trouble;
};

// How far the runner of this process got with a job.
struct JobProgress {
  Job job;
  bool cancel_sent = false;
  int submits = 0;
  ExecutorError submit_error;  // of the latest one, if it failed
  std::string learned_ref;     // reported
};

enum class JobStep : std::uint8_t {
  going_on,
  trouble,  // look again, but not at once
  over,     // reported as finished: there is no next step
};

JobStep take_step(Executor& executor, const JobReports& reports, JobProgress& progress,
                  bool cancel_wanted);

}  // namespace signalbox
