// Runs the service's jobs as recorded attempts instead of processes: each ends when its recorded
// time, or its timeout, has passed.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/simulated_questions.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/scheduler/job_runner.h"

namespace signalbox {

class SimulatedJobs final : public JobRunner {
 public:
  SimulatedJobs(SimulatedTime& time, AttemptPool& pool, SimulatedQuestions& questions,
                JobReports reports)
      : time_(time), pool_(pool), questions_(questions), reports_(std::move(reports)) {}

  void track(Job job) override;
  void cancel(const std::string& job_id) override;

 private:
  void finish(const Job& job, const JobResult& result);

  SimulatedTime& time_;
  AttemptPool& pool_;
  SimulatedQuestions& questions_;
  const JobReports reports_;
  std::unordered_map<std::string, Job> under_way_;
};

}  // namespace signalbox
