#include "server/scheduler/job_step.h"

#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/try.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/platform/process_table.h"
#include "server/text/utf8_text.h"

#include <algorithm>
#include <vector>

namespace signalbox {
namespace {

constexpr int submits_max = 3;

// Processes that a message names; the others are counted.
constexpr std::size_t named_survivors_max = 16;

JobResult lost_result(const std::string& why, std::vector<std::int32_t> survivors) {
  JobResult result;
  result.failure = {Outcome::failed, ErrorClass::lost, "JOB_LOST", why};
  if (!survivors.empty()) {
    const std::size_t named = std::min(survivors.size(), named_survivors_max);
    std::string& message = result.failure.message;
    message += "; these of its processes would not end:";
    for (std::size_t each = 0; each < named; ++each)
      message += ' ' + std::to_string(survivors[each]);
    const std::size_t others = survivors.size() - named;
    if (others > 0) message += ", and " + std::to_string(others) + " more";
  }
  survivors.resize(std::min(survivors.size(), limits::escaped_pids_max));
  result.escaped_pids = std::move(survivors);
  return result;
}

JobResult never_started() {
  JobResult result;
  result.canceled = true;
  result.failure = {Outcome::canceled, ErrorClass::terminal, "CANCELED", "never started"};
  return result;
}

JobResult failed_submit(const ExecutorError& error) {
  JobResult result;
  result.failure = {Outcome::failed, error.error_class, error.code,
                    shortened(error.message, limits::reason_bytes_max)};
  return result;
}

class Stepper {
 public:
  Stepper(Executor& executor, const JobReports& reports, JobProgress& progress)
      : executor_(executor), reports_(reports), progress_(progress), job_(progress.job) {}

  JobStep step(bool cancel_wanted, std::int64_t cancel_age_ms) {
    Executed<void> asked;
    if (cancel_wanted && !progress_.cancel_sent) {
      asked = executor_.cancel(job_);
      progress_.cancel_sent = asked.has_value();
    }
    // Also if it couldn't be asked to end: it may have ended by itself.
    auto state = executor_.poll(job_);
    if (!state) return trouble(state.error());
    // A job that removes its own directory, or whose log has its ref, was executed: not twice. A
    // remote one counts as running while it isn't known whether its submit arrived; so does one of
    // a runner.
    const bool was_seen =
        *state != JobState::absent && !is_remote(job_.definition) && !is_runner(job_.machine);
    if (was_seen ||
        proves_start(job_.external_ref, job_.definition, job_.span_id, job_.resume_ref)) {
      progress_.is_submitted = true;
    }
    if (*state == JobState::absent && progress_.is_submitted) *state = JobState::lost;
    // The ref is reported before the end of the job: the next attempt may resume from it.
    if (*state != JobState::absent) {
      if (const auto reported = report_learned_ref(); !reported) return trouble(reported.error());
    }
    switch (*state) {
      case JobState::running:
        if (cancel_wanted && is_given_up(cancel_age_ms)) return give_up();
        return asked ? JobStep::in_progress : trouble(asked.error());
      case JobState::absent:
        if (!asked) return trouble(asked.error());
        return cancel_wanted ? finished(never_started()) : submit();
      case JobState::finished: {
        const auto result = executor_.fetch_result(job_);
        return result ? finished(*result) : trouble(result.error());
      }
      case JobState::lost: {
        const auto survivors = executor_.clean_up_lost(job_);
        if (!survivors) return trouble(survivors.error());
        JobResult result = lost_result("the job is gone and left no result", *survivors);
        executor_.describe_lost(job_, result);
        return finished(result);
      }
    }
    return JobStep::in_progress;
  }

 private:
  // Returns whether the job is to be ended without its supervisor, which was woken before and had
  // all the time that it needs to end the job.
  bool is_given_up(std::int64_t cancel_age_ms) {
    const std::int64_t grace_ms = job_.definition.cancel_grace_ms;
    const std::int64_t wake_ms = grace_ms + stuck_job_patience_ms;
    if (cancel_age_ms < wake_ms) return false;
    if (!progress_.was_woken) {
      progress_.was_woken = true;
      progress_.may_be_given_up = executor_.wake(job_);
    }
    const std::int64_t end_ms = grace_ms + kill_patience_ms + stuck_job_patience_ms;
    return progress_.may_be_given_up && cancel_age_ms >= wake_ms + end_ms;
  }

  JobStep give_up() {
    const auto survivors = executor_.clean_up_lost(job_);
    if (!survivors) return trouble(survivors.error());
    JobResult result =
        lost_result("its supervisor didn't end it, so it was ended without one", *survivors);
    result.canceled = survivors->empty();
    executor_.describe_lost(job_, result);
    return finished(result);
  }

  Executed<void> report_learned_ref() {
    const auto ref = TRY(executor_.learned_ref(job_));
    if (ref.empty() || ref == progress_.learned_ref) return {};
    progress_.learned_ref = ref;
    reports_.submitted(job_, ref);
    return {};
  }

  // A submit that fails may still have started the job, so the next step polls first. The job is
  // given up only if it is absent after the last attempt, or if the error is permanent.
  JobStep submit() {
    if (progress_.submits == submits_max) return finished(failed_submit(progress_.submit_error));
    ++progress_.submits;
    const auto ref = executor_.submit(job_);
    if (ref) {
      progress_.is_submitted = true;
      if (!ref->empty()) reports_.submitted(job_, *ref);
      return JobStep::in_progress;
    }
    const bool is_permanent = ref.error().error_class == ErrorClass::config ||
                              ref.error().error_class == ErrorClass::terminal;
    if (is_permanent) return finished(failed_submit(ref.error()));
    progress_.submit_error = ref.error();
    return trouble(ref.error());
  }

  JobStep trouble(const ExecutorError& error) {
    reports_.trouble(job_, error);
    return JobStep::trouble;
  }

  JobStep finished(const JobResult& result) {
    reports_.finished(job_, result);
    return JobStep::over;
  }

  Executor& executor_;
  const JobReports& reports_;
  JobProgress& progress_;
  const Job& job_;
};

}  // namespace

JobStep advance_job(Executor& executor, const JobReports& reports, JobProgress& progress,
                    bool cancel_wanted, std::int64_t cancel_age_ms) {
  return Stepper(executor, reports, progress).step(cancel_wanted, cancel_age_ms);
}

}  // namespace signalbox
