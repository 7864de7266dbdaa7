// Audits the plans of deep work in the register: explored once, planned by the rules, each step
// after all that it needs and completed once, everything blocked that depends on a failed step.
// What was completed stays completed over crashes and retries. A part of RegisterAudit. D3 D4 D5 D6
// D7
#pragma once

#include <set>
#include <string>

#include "tests/simulation/audited_run.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class PlanAudit {
 public:
  PlanAudit(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // Begins a plan for a deep_work station that is claimed, or that a retry reopened after the run
  // failed.
  static void begin(AuditedRun& run);
  // Audits the success of a station.
  void succeed(const Record& record, AuditedRun& run);
  // Audits an event about the plan.
  void read(const Record& record, AuditedRun& run, const PlanEvent& event);
  // Checks the plan at the end of a commit with records of the run. `retried`: one of them was
  // RunRetried.
  void finish_commit(Position position, const std::string& run_name, AuditedRun& run, bool retried);

 private:
  void read_plan(const Record& record, AuditedRun& run, const PlanSet& set);
  void read_restored(const Record& record, AuditedRun& run, const PlanRestored& restored);
  void read_start(const Record& record, AuditedRun& run, AuditedStep& step,
                  const StepAttemptStarted& started);
  void read_step(const Record& record, AuditedRun& run, AuditedStep& step, const PlanEvent& event);
  void end_attempt(const Record& record, AuditedStep& step, StepStatus status);
  void read_failure(const Record& record, AuditedRun& run, AuditedStep& step,
                    ErrorClass error_class, bool another_follows);
  void wrong(const Record& record, const std::string& what) {
    report_contradiction(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
};

}  // namespace signalbox::simulation
