// Reads the plans of deep work in the register: explored once, planned as the rules say, each step
// after all that it needs and completed once, whatever depends on a failed one blocked; over
// crashes and retries what was completed stays so. A part of RegisterAudit. D3 D4 D5 D6 D7
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

  // A station is claimed, or is taken up again after the run failed.
  static void begin(AuditedRun& run);
  // The station has succeeded.
  void succeed(const Record& record, AuditedRun& run);
  void read(const Record& record, AuditedRun& run, const PlanEvent& event);
  // At the end of a commit that told of the run. `retried`: RunRetried was in it.
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
    find_wrong(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
};

}  // namespace signalbox::simulation
