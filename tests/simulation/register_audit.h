// Reads the register as somebody would who knows the promises and not the code: who holds a
// station, what was done before, whose word was taken. A second opinion beside evolve(), which it
// shares nothing with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/event_log.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class RegisterAudit {
 public:
  RegisterAudit(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // The next commit that is durable.
  void read(const Commit& commit);

  [[nodiscard]] Position tail() const { return tail_; }
  [[nodiscard]] bool has_command(const std::string& id) const { return commands_.contains(id); }
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }
  [[nodiscard]] std::size_t open_runs() const;

  // By job id: the token of the attempt that intended it.
  [[nodiscard]] const std::map<std::string, Token>& intents() const { return intents_; }
  // The jobs whose attempts are recorded as succeeded.
  [[nodiscard]] const std::set<std::string>& succeeded_jobs() const { return succeeded_jobs_; }

 private:
  struct AuditedRun {
    std::vector<StationDefinition> stations;
    std::size_t current = 0;
    std::vector<std::uint32_t> attempts;
    std::uint32_t failures = 0;  // of the current station
    Token holder = 0;
    Token lock = 0;            // that the holder said it needs, or 0
    std::uint32_t stalls = 0;  // since it got on
    std::string job_id;
    bool paused = false;
    bool terminal = false;
  };
  struct AuditedTick {
    Token token = 0;  // 0: none is without an end
    Token lock = 0;
  };

  void read(const Record& record);
  void finish_commit(Position position);
  void read_command(const Record& record);
  void read_run(const Record& record, AuditedRun& run);
  void start(const Record& record, const RunStarted& started);
  void claim(const Record& record, AuditedRun& run, const StationClaimed& claimed);
  // A word of whoever holds the station.
  void word(const Record& record, const AuditedRun& run, const std::string& station);
  void read_stall(const Record& record, AuditedRun& run, const StationStalled& stalled);
  void read_pause(const Record& record, AuditedRun& run, bool paused);
  void lose_by_lock(const Record& record, const std::string& code, Token lock);
  // The lock that the client said it needs when it asked for what the record grants, or 0.
  [[nodiscard]] Token needed_lock(const Record& record);
  void read_server(const Record& record);
  void read_recovery(const Record& record, const RecoveryFinished& finished);
  void read_lock(const Record& record);
  void read_tick(const Record& record);
  void wrong(const Record& record, const std::string& what);

  Environment& environment_;
  const CommandBook& book_;
  Position tail_ = 0;
  PreviousEnd next_start_finds_ = PreviousEnd::none;
  std::map<RunId, AuditedRun> runs_;
  std::map<Digest, std::vector<StationDefinition>> pipelines_;
  std::map<std::string, RunId> idempotency_keys_;
  std::map<std::string, Position> commands_;  // the last record of each
  std::map<std::string, Token> intents_;
  std::map<std::string, Token> lock_holders_;  // by key
  std::map<std::string, AuditedTick> ticks_;   // by loop
  std::set<Token> lost_locks_;                 // in the present commit
  std::optional<std::set<Token>>
      in_flight_;  // at the crash that the present commit is a start after
  std::set<std::string> succeeded_jobs_;
};

}  // namespace signalbox::simulation
