// Audits the records in the register: who holds a station, which commands were done before, whose
// token was accepted. A second implementation of the promises that shares no code with evolve().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/event_log.h"
#include "tests/simulation/audited_run.h"
#include "tests/simulation/command_book.h"
#include "tests/simulation/lock_audit.h"
#include "tests/simulation/plan_audit.h"
#include "tests/simulation/turn_audit.h"

namespace signalbox::simulation {

class RegisterAudit {
 public:
  RegisterAudit(Environment& environment, const CommandBook& book)
      : environment_(environment),
        book_(book),
        turns_(environment, book),
        plans_(environment, book),
        locks_(environment, book) {}

  // Audits the next durable commit.
  void read(const Commit& commit);

  [[nodiscard]] Position tail() const { return tail_; }
  [[nodiscard]] bool has_command(const std::string& id) const { return commands_.contains(id); }
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }
  [[nodiscard]] std::size_t open_runs() const;
  // Returns whether nothing but a person's decision about a result, and no agent, is left of a run.
  [[nodiscard]] bool waits_with_its_result(const RunId& id) const;

  // Returns, by job id, the token of the attempt that intended the job.
  [[nodiscard]] const std::map<std::string, Token>& intents() const { return intents_; }
  // Returns the jobs whose attempts are recorded as succeeded.
  [[nodiscard]] const std::set<std::string>& succeeded_jobs() const { return succeeded_jobs_; }
  // Returns whether what the attempt of this token has used up is recorded.
  [[nodiscard]] bool knows_usage_of(Token token) const { return turns_.knows_usage_of(token); }
  // Returns, by job id, the recorded usage of jobs that ended with a result of their own.
  [[nodiscard]] const std::map<std::string, Usage>& job_usages() const {
    return turns_.job_usages();
  }
  // Returns the jobs whose usage limit was recorded as a failure.
  [[nodiscard]] const std::set<std::string>& blamed_jobs() const { return turns_.blamed_jobs(); }

 private:
  struct AuditedTick {
    Token token = 0;  // 0 if no tick is under way
    Token lock = 0;
  };

  void read(const Record& record);
  void finish_commit(Position position);
  void read_command(const Record& record);
  void read_run(const Record& record, AuditedRun& run);
  void retry(const Record& record, AuditedRun& run, const RunRetried& retried);
  // Audits an event of an attempt, which only the station's holder may cause.
  void read_attempt(const Record& record, AuditedRun& run);
  void read_end_of_attempt(const Record& record, AuditedRun& run);
  void read_end_of_run(const Record& record, AuditedRun& run);
  void read_access(const Record& record, const AccessEvent& event);
  void start(const Record& record, const RunStarted& started);
  void claim(const Record& record, AuditedRun& run, const StationClaimed& claimed);
  // Checks that the record was caused by the holder of `station`, which has to be the one in turn.
  void word(const Record& record, const AuditedRun& run, const std::string& station);
  void read_late_usage(const Record& record, AuditedRun& run);
  void read_stall(const Record& record, AuditedRun& run, const StationStalled& stalled);
  void read_pause(const Record& record, AuditedRun& run, bool paused);
  void read_server(const Record& record);
  void read_recovery(const Record& record, const RecoveryFinished& finished);
  void read_tick(const Record& record);
  void wrong(const Record& record, const std::string& what);

  Environment& environment_;
  const CommandBook& book_;
  TurnAudit turns_;
  PlanAudit plans_;
  LockAudit locks_;
  Position tail_ = 0;
  PreviousEnd next_start_finds_ = PreviousEnd::none;
  bool service_paused_ = false;
  std::map<RunId, AuditedRun> runs_;
  std::map<Digest, std::vector<StationDefinition>> pipelines_;
  std::map<std::string, RunId> idempotency_keys_;
  std::map<std::string, Position> commands_;  // position of the last record of each
  std::map<std::string, Token> intents_;
  std::map<Token, std::pair<RunId, std::string>> claims_;  // by token: of which run, and by whom
  std::map<std::string, AuditedTick> ticks_;               // by loop
  std::optional<std::set<Token>>
      in_flight_;  // at the crash that the present commit is a start after
  std::set<std::string> succeeded_jobs_;
  std::map<RunId, bool> touched_runs_;  // runs in the commit that is being read; true: retried
  std::map<std::pair<std::string, std::string>, std::int64_t> denials_;  // by actor and method
};

}  // namespace signalbox::simulation
