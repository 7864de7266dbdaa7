// Audits what delays a station's turn and what brings it: waits, usage and budgets, usage limits,
// approvals, and retries of failed runs. A part of RegisterAudit.
#pragma once

#include <set>
#include <string>

#include "tests/simulation/audited_run.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class TurnAudit {
 public:
  TurnAudit(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // Audits a claim.
  void claim(const Record& record, AuditedRun& run);
  // Audits the end of an attempt. The run's holder is still set.
  void end(const Record& record, AuditedRun& run);
  // Audits an event of an open run. Returns true if it is one of those audited here.
  bool read(const Record& record, AuditedRun& run);
  // Audits a LateUsageReported of the attempt with this job, or of a worker's attempt if it is
  // empty; the run may have ended.
  void read_late_usage(const Record& record, AuditedRun& run, const std::string& job_id);
  // Audits the retry of a run that isn't open.
  void retry(const Record& record, AuditedRun& run, const RunRetried& retried);

  // Returns whether the register has what the attempt of this token has used up.
  [[nodiscard]] bool knows_usage_of(Token token) const { return told_.contains(token); }
  // Returns the recorded usage of the jobs that ended with a result of their own.
  [[nodiscard]] const std::map<std::string, Usage>& job_usages() const { return job_usages_; }
  // Returns the jobs whose usage limit was recorded as a failure.
  [[nodiscard]] const std::set<std::string>& blamed_jobs() const { return blamed_jobs_; }

 private:
  void read_usage(const Record& record, AuditedRun& run, const StationUsageReported& reported);
  void read_request(const Record& record, AuditedRun& run, const StationApprovalRequested& asked);
  void read_hold(const Record& record, AuditedRun& run, const StationHeld& held);
  void read_ready(const Record& record, AuditedRun& run, const StationReady& ready);
  // Audits StationApproved, StationApprovalGiven or StationRejected of `station`: a command must
  // have asked for that decision.
  void read_decision(const Record& record, AuditedRun& run, const std::string& station,
                     const char* decision);
  void read_budget(const Record& record, AuditedRun& run, const RunBudgetRaised& raised);
  void check_limit_met(const Record& record, const SentCommand& sent, const AuditedRun& run);
  void wrong(const Record& record, const std::string& what) {
    report_contradiction(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
  std::set<std::string> decided_by_;  // ids of commands
  std::set<Token> told_;              // attempts whose usage is in the register
  std::map<std::string, Usage> job_usages_;
  std::set<std::string> blamed_jobs_;
};

}  // namespace signalbox::simulation
