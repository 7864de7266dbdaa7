// Reads in the register what keeps a station's turn from coming, and what brings it: waits,
// usage and budgets, usage limits, approvals, retries of failed runs. A part of RegisterAudit.
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

  void claim(const Record& record, AuditedRun& run);
  // An attempt ends by `record`; its holder is known still.
  void end(const Record& record, AuditedRun& run);
  // Of an open run. True if the event was one of these.
  bool read(const Record& record, AuditedRun& run);
  // The run isn't open.
  void retry(const Record& record, AuditedRun& run, const RunRetried& retried);

  // What the register says of the usage of the jobs that ended with a result of their own.
  [[nodiscard]] const std::map<std::string, Usage>& job_usages() const { return job_usages_; }
  // The jobs that met a usage limit, and this counted as a failure.
  [[nodiscard]] const std::set<std::string>& blamed_jobs() const { return blamed_jobs_; }

 private:
  void read_usage(const Record& record, AuditedRun& run, const StationUsageReported& reported);
  void read_hold(const Record& record, AuditedRun& run, const StationHeld& held);
  void read_ready(const Record& record, AuditedRun& run, const StationReady& ready);
  // StationApproved or StationRejected: of `station`, by a command that said so.
  void read_decision(const Record& record, AuditedRun& run, const std::string& station,
                     const char* decision);
  void read_budget(const Record& record, AuditedRun& run, const RunBudgetRaised& raised);
  void check_limit_met(const Record& record, const SentCommand& sent);
  void wrong(const Record& record, const std::string& what) {
    find_wrong(environment_, record, what);
  }

  Environment& environment_;
  const CommandBook& book_;
  std::set<std::string> decided_by_;  // commands
  std::map<std::string, Usage> job_usages_;
  std::set<std::string> blamed_jobs_;
};

}  // namespace signalbox::simulation
