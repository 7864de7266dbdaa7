// Runs the steps of jobs as actions of the schedule, where the service has threads for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/scheduler/job_runner.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class SimulatedJobRunner final : public JobRunner {
 public:
  SimulatedJobRunner(Environment& environment, Executor& executor, Owner owner, JobReports reports)
      : environment_(environment),
        executor_(executor),
        owner_(owner),
        reports_(std::move(reports)) {}

  void track(Job job) override;
  void cancel(const std::string& job_id) override;
  void look_again(const std::string& job_id) override;

 private:
  struct Tracked {
    JobProgress progress;
    bool cancel_wanted = false;
    std::int64_t pause_ns = 0;
    std::uint64_t turn = 0;  // a planned step with an earlier number is void
  };

  void look_after(const std::string& job_id, Tracked& tracked, std::int64_t delay_ns);
  void look(const std::string& job_id, std::uint64_t turn);

  Environment& environment_;
  Executor& executor_;
  Owner owner_;
  JobReports reports_;
  std::map<std::string, Tracked> jobs_;
};

}  // namespace signalbox::simulation
