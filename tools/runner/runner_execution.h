// Executes the jobs of a runner with the service's own executor, in the runner's work directory.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/executors/process/process_executor.h"
#include "server/platform/directory_artifacts.h"
#include "server/platform/lane_pool.h"
#include "server/scheduler/job_runner.h"
#include "tools/runner/patching_executor.h"
#include "tools/runner/runner_work.h"

namespace signalbox {

// Where the repositories of the service's runs are on this machine, by their paths there.
using RunnerRepositories = std::map<std::string, std::filesystem::path>;

class RunnerExecution {
 public:
  // `secret_of` returns what a job authenticates with; called on any thread.
  RunnerExecution(const RunnerWork& work, RunnerRepositories repositories,
                  std::function<std::string(const std::string& job_id)> secret_of);

  // Returns the job with this machine's paths in the place of the service's.
  [[nodiscard]] Job job_here(const Job& job) const;
  [[nodiscard]] std::unique_ptr<JobRunner> make_runner(JobReports reports);
  [[nodiscard]] ArtifactStore& artifacts() { return artifacts_; }
  // Ends its threads, before what make_runner() returned is destroyed. The jobs go on.
  void stop();

 private:
  const std::filesystem::path runs_;
  const RunnerRepositories repositories_;
  DirectoryArtifacts artifacts_;
  ProcessExecutor executor_;
  PatchingExecutor patching_;
  LanePool lanes_;
  LanePool remote_lanes_;
};

}  // namespace signalbox
