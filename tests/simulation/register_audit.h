// Reads the register as somebody would who knows the promises and not the code: who holds a
// station, what was done before, whose word was taken. A second opinion beside evolve(), which it
// shares nothing with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "domain/event.h"
#include "tests/simulation/command_book.h"

namespace signalbox::simulation {

class RegisterAudit {
 public:
  RegisterAudit(Environment& environment, const CommandBook& book)
      : environment_(environment), book_(book) {}

  // The next record that is durable.
  void read(const Record& record);

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
    std::string job_id;
    bool terminal = false;
  };

  void read_command(const Record& record);
  void read_run(const Record& record, AuditedRun& run);
  void start(const Record& record, const RunStarted& started);
  void claim(const Record& record, AuditedRun& run, const StationClaimed& claimed);
  // A word of whoever holds the station.
  void word(const Record& record, const AuditedRun& run, const std::string& station);
  void read_server(const Record& record);
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
  std::map<std::string, Token> ticks_;         // by loop: the one without an end
  std::set<std::string> succeeded_jobs_;
};

}  // namespace signalbox::simulation
