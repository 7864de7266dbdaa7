#include "server/runners/runner_executor.h"

#include <utility>

#include "domain/try.h"

namespace signalbox {
namespace {

ExecutorError runner_away(const std::string& why) {
  return {ErrorClass::transient, "RUNNER_AWAY", why};
}

}  // namespace

RunnerExecutor::RunnerExecutor(RunnerExecutorOptions options, RunnerRegistry& registry)
    : options_(std::move(options)), registry_(registry) {}

Executed<std::string> RunnerExecutor::submit(const Job& job) {
  const Job known = TRY(with_declared_commits(job, options_.declared_commit));
  registry_.order(known, options_.secret_of(job.id));
  return std::string();
}

Executed<JobState> RunnerExecutor::poll(const Job& job) {
  switch (registry_.look_at(job)) {
    case RunnerRegistry::JobLook::away:
      return tl::unexpected(runner_away(registry_.why_away(job)));
    case RunnerRegistry::JobLook::absent:
      return JobState::absent;
    case RunnerRegistry::JobLook::running:
      return JobState::running;
    case RunnerRegistry::JobLook::finished:
      return JobState::finished;
    case RunnerRegistry::JobLook::lost:
      break;
  }
  return JobState::lost;
}

Executed<std::string> RunnerExecutor::learned_ref(const Job& job) {
  return registry_.external_ref_of(job);
}

Executed<JobResult> RunnerExecutor::fetch_result(const Job& job) {
  auto result = registry_.result_of(job);
  if (!result) return tl::unexpected(runner_away("the result of the job isn't here any more"));
  return std::move(*result);
}

Executed<void> RunnerExecutor::cancel(const Job& job) {
  registry_.cancel(job);
  return {};
}

Executed<std::vector<std::int32_t>> RunnerExecutor::clean_up_lost(const Job&) {
  return std::vector<std::int32_t>{};
}

void RunnerExecutor::describe_lost(const Job& job, JobResult& result) {
  const bool is_gone = registry_.look_at(job) == RunnerRegistry::JobLook::lost;
  if (is_gone) result.failure.message = "the job is lost: " + registry_.why_away(job);
  result.cancel_unconfirmed = true;
  registry_.forget(job);
}

}  // namespace signalbox
