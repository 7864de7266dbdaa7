// Executes jobs at runners: it hands them to the registry, and reads there how they are. It blocks
// for nothing but the log's word about a job's base.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/executors/executor.h"
#include "server/executors/process/job_environment.h"
#include "server/runners/runner_registry.h"

namespace signalbox {

struct RunnerExecutorOptions {
  // Returns the secret with which the job authenticates as itself.
  std::function<std::string(const std::string& job_id)> secret_of;
  FindDeclaredCommit declared_commit = nullptr;
};

// Any thread.
class RunnerExecutor final : public Executor {
 public:
  // `registry` must outlive this.
  RunnerExecutor(RunnerExecutorOptions options, RunnerRegistry& registry);

  // Returns an empty ref: the job's runner tells it once it has taken the job.
  Executed<std::string> submit(const Job& job) override;
  // RUNNER_AWAY (transient) while it isn't known what the job's runner has.
  Executed<JobState> poll(const Job& job) override;
  Executed<std::string> learned_ref(const Job& job) override;
  Executed<JobResult> fetch_result(const Job& job) override;
  Executed<void> cancel(const Job& job) override;
  // Returns an empty list: what is left of it is on another machine, out of sight.
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job& job) override;
  // Says that its runner is gone. The end of a canceled one is unconfirmed.
  void describe_lost(const Job& job, JobResult& result) override;

 private:
  const RunnerExecutorOptions options_;
  RunnerRegistry& registry_;
};

}  // namespace signalbox
