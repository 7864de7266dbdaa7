// The state machine of a job: look it up, submit it if it is absent, poll it, fetch its result,
// cancel it. It takes one step at a time, without threads or clocks, so that the simulator takes
// the same steps on its own schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/executors/executor.h"

namespace signalbox {

struct JobReports {
  // Called when the executor's own id of the job is known.
  std::function<void(const Job& job, const std::string& external_ref)> submitted;
  // Called when the job is over. A result with `canceled` means that nothing of the job is left but
  // escaped_pids.
  std::function<void(const Job& job, const JobResult& result)> finished;
  // Called when a call of the executor failed; it is repeated later.
  std::function<void(const Job& job, const ExecutorError& error)> trouble;
};

// The progress of a job in this process.
struct JobProgress {
  Job job;
  bool cancel_sent = false;
  bool was_woken = false;        // Executor::wake() was called
  bool may_be_given_up = false;  // what it returned
  int submits = 0;
  bool is_submitted = false;   // the executor took it
  ExecutorError submit_error;  // of the latest failed submit
  std::string learned_ref;     // the latest that was reported
};

enum class JobStep : std::uint8_t {
  in_progress,
  trouble,  // the executor failed: take the next step after a longer pause
  over,     // reported as finished: there is no next step
};

// How long after its cancel, and the grace for it, a job that goes on is thought to be stuck: its
// supervisor may be stopped, or something that the job made may hold its lock.
inline constexpr std::int64_t stuck_job_patience_ms = 5'000;

// Takes one step of `progress.job` and reports what happened. Calls the executor, so it may block.
// `cancel_age_ms` is the time since the cancel was wanted: a job that is stuck is woken, and, if
// that doesn't end it, cleaned up and given up as lost.
JobStep advance_job(Executor& executor, const JobReports& reports, JobProgress& progress,
                    bool cancel_wanted, std::int64_t cancel_age_ms = 0);

}  // namespace signalbox
