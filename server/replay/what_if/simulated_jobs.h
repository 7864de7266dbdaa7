// Runs the service's jobs as recorded attempts instead of processes, and asks what those asked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "server/engine/engine.h"
#include "server/replay/what_if/attempt_pool.h"
#include "server/replay/what_if/recorded_work.h"
#include "server/replay/what_if/simulated_time.h"
#include "server/scheduler/job_runner.h"

namespace signalbox {

// Returns what records the usage of a job whose attempt had ended, as the service does
// (server/rpc/late_usage.h). `engine` outlives it.
std::function<void(const Job& job, const Usage& usage)> late_usage_to(Engine& engine);

// Asks for approvals as recorded attempts did, and has each decided as it was: after the recorded
// time, whether the attempt is under way then or has left its result.
class SimulatedQuestions {
 public:
  // `plan_decision` applies a person's command after this time.
  using PlanDecision = std::function<void(std::int64_t after_ns, Command command)>;
  SimulatedQuestions(Engine& engine, PlanDecision plan_decision)
      : engine_(engine), plan_decision_(std::move(plan_decision)) {}

  // Asks for the attempt with this token. A question that nobody decided in time waits for ever, or
  // until its attempt fails.
  void ask(const RunId& run_id, const std::string& station, Token token,
           const RecordedQuestion& question);

 private:
  Engine& engine_;
  const PlanDecision plan_decision_;
};

// Ends each job when its recorded time, or its timeout, has passed. What a job has used up is told
// with its end, or again after it where the log has it so.
class SimulatedJobs final : public JobRunner {
 public:
  SimulatedJobs(SimulatedTime& time, AttemptPool& pool, SimulatedQuestions& questions,
                JobReports reports)
      : time_(time), pool_(pool), questions_(questions), reports_(std::move(reports)) {}

  void track(Job job) override;
  void cancel(const std::string& job_id) override;

 private:
  void finish(const Job& job, const JobResult& result);
  // Has the attempt's usage told when it was; the attempt has just ended, this time after its
  // claim.
  void tell_late(const Job& job, const RecordedAttempt& attempt, std::int64_t ended_ns);

  SimulatedTime& time_;
  AttemptPool& pool_;
  SimulatedQuestions& questions_;
  const JobReports reports_;
  std::unordered_map<std::string, Job> under_way_;
};

}  // namespace signalbox
