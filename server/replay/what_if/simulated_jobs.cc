#include "server/replay/what_if/simulated_jobs.h"

#include <algorithm>
#include <optional>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

// Returns when the attempt times out, in nanoseconds since its start; nullopt if it ends before.
// The timeout is counted from the latest progress.
std::optional<std::int64_t> times_out_after_ns(const RecordedAttempt& attempt,
                                               std::int64_t timeout_ms) {
  const std::int64_t timeout_ns = timeout_ms * ns_per_ms;
  std::int64_t origin_ns = 0;
  std::string progress;
  for (const RecordedBeat& beat : attempt.beats) {
    if (beat.after_ns - origin_ns > timeout_ns) return origin_ns + timeout_ns;
    if (beat.progress.empty() || beat.progress == progress) continue;
    progress = beat.progress;
    origin_ns = beat.after_ns;
  }
  const bool done = attempt.ending == AttemptEnding::reported;
  if (done && attempt.worked_ns - origin_ns <= timeout_ns) return std::nullopt;
  return origin_ns + timeout_ns;
}

JobResult result_of(const RecordedAttempt& attempt, std::int64_t now_ns) {
  JobResult result;
  result.outcome = attempt.outcome;
  if (!attempt.told_late_ns) result.usage = attempt.usage;
  result.failure = {attempt.outcome, attempt.error_class, attempt.code, ""};
  if (attempt.given_back) {
    result.outcome = Outcome::failed;
    result.failure.error_class = ErrorClass::quota;
    result.quota_reset_at_ns = now_ns + attempt.wait_ns;
  }
  return result;
}

}  // namespace

std::function<void(const Job& job, const Usage& usage)> late_usage_to(Engine& engine) {
  return [&engine](const Job& job, const Usage& usage) {
    NoteLateUsage late{job.run_id, job.definition.name,    job.attempt, job.token, job.span_id,
                       usage,      engine.world().position};
    (void)engine.begin(by_the_service).apply(late);
  };
}

void SimulatedQuestions::ask(const RunId& run_id, const std::string& station, Token token,
                             const RecordedQuestion& question) {
  const auto asked =
      engine_.begin(by_the_service).apply(RequestApproval{run_id, station, token, "recorded"});
  if (!asked || *asked == 0 || !question.decision) return;
  plan_decision_(question.waited_ns, ResumeRun{run_id, {}, question.decision, {}, station});
}

void SimulatedJobs::track(Job job) {
  const auto [place, added] = under_way_.emplace(job.id, job);
  if (!added) return;
  const RecordedAttempt& attempt = pool_.attempt(job.run_id, job.definition.name, job.attempt);
  for (const RecordedQuestion& question : attempt.questions) {
    time_.after(question.after_ns, [this, job, &question] {
      if (!under_way_.contains(job.id)) return;
      questions_.ask(job.run_id, job.definition.name, job.token, question);
    });
  }
  const auto late_ns = times_out_after_ns(attempt, job.definition.timeout_ms);
  time_.after(late_ns.value_or(attempt.worked_ns), [this, job = std::move(job), &attempt, late_ns] {
    JobResult result = result_of(attempt, time_.wall_ns());
    if (late_ns) {
      result = {};
      result.outcome = Outcome::timeout;
      result.failure = {Outcome::timeout, ErrorClass::transient, "TIMEOUT", ""};
      // What it had used up when it was ended is known only if the log has it ended, too.
      const bool is_told = attempt.ending == AttemptEnding::open && !attempt.told_late_ns;
      if (is_told) result.usage = attempt.usage;
    }
    finish(job, result);
    if (attempt.told_late_ns) tell_late(job, attempt, late_ns.value_or(attempt.worked_ns));
  });
}

void SimulatedJobs::tell_late(const Job& job, const RecordedAttempt& attempt,
                              std::int64_t ended_ns) {
  JobResult again;
  again.usage = attempt.usage;
  time_.after(std::max<std::int64_t>(0, *attempt.told_late_ns - ended_ns),
              [this, job, again] { reports_.finished(job, again); });
}

void SimulatedJobs::cancel(const std::string& job_id) {
  const auto place = under_way_.find(job_id);
  if (place == under_way_.end()) return;
  JobResult result;
  result.canceled = true;
  result.failure = {Outcome::failed, ErrorClass::terminal, "CANCELED", ""};
  time_.after(0, [this, job = place->second, result] { finish(job, result); });
}

void SimulatedJobs::finish(const Job& job, const JobResult& result) {
  if (under_way_.erase(job.id) > 0) reports_.finished(job, result);
}

}  // namespace signalbox
