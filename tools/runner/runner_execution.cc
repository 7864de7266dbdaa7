#include "tools/runner/runner_execution.h"

#include <utility>

#include "server/git/pinned_repository.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/child_process.h"
#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

LanePool::Bounds job_lanes() {
  return {.working_max = 4,
          .threads_max = limits::lane_threads_max,
          .lane_waiting_max = limits::lane_waiting_max,
          .disk_working_max = limits::disk_threads_max,
          .hang_ms = limits::lane_hang_ms_max};
}

}  // namespace

RunnerExecution::RunnerExecution(const RunnerWork& work, RunnerRepositories repositories,
                                 std::function<std::string(const std::string& job_id)> secret_of)
    : runs_(work.runs()),
      repositories_(std::move(repositories)),
      artifacts_(work.artifacts()),
      executor_({work.jobs(), own_program, work.socket(), environment_of_children(),
                 std::move(secret_of), nullptr},
                artifacts_),
      patching_(executor_, artifacts_, work.directory() / pins_directory_name),
      lanes_(job_lanes()),
      remote_lanes_(LanePool::Bounds{}) {}

Job RunnerExecution::job_here(const Job& job) const {
  Job here = job;
  here.run_root = (runs_ / to_string(job.run_id)).string();
  here.workspace.clear();
  if (const auto place = repositories_.find(job.repository); place != repositories_.end()) {
    here.repository = place->second.string();
  }
  return here;
}

std::unique_ptr<JobRunner> RunnerExecution::make_runner(JobReports reports) {
  return std::make_unique<JobThreads>(patching_, std::move(reports), lanes_, remote_lanes_);
}

void RunnerExecution::stop() {
  (void)lanes_.stop(CallBounds::never_ms);
  (void)remote_lanes_.stop(CallBounds::never_ms);
}

}  // namespace signalbox
