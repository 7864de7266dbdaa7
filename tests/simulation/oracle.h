// Judges the service from outside, by what clients were answered, what the register contains, and
// what the machine did. Distributes records and answers to the audits and watches.
#pragma once

#include <deque>
#include <span>
#include <string>

#include "domain/world.h"
#include "store/event_log.h"
#include "tests/simulation/access_watch.h"
#include "tests/simulation/answer_judge.h"
#include "tests/simulation/any_settings.h"
#include "tests/simulation/board_audit.h"
#include "tests/simulation/card_run_audit.h"
#include "tests/simulation/clock_check.h"
#include "tests/simulation/due_audit.h"
#include "tests/simulation/event_counts.h"
#include "tests/simulation/lateness_watch.h"
#include "tests/simulation/lease_watch.h"
#include "tests/simulation/register_audit.h"
#include "tests/simulation/run_root_files.h"
#include "tests/simulation/simulated_machine.h"
#include "tests/simulation/simulated_repositories.h"
#include "tests/simulation/wait_watch.h"
#include "tests/simulation/witness.h"

namespace signalbox::simulation {

class Oracle final : public Witness {
 public:
  Oracle(Environment& environment, const SimulatedMachine& machine, const RunRootFiles& files,
         const SimulatedRepositories& repositories, const BoardRhythm& rhythm)
      : environment_(environment),
        machine_(machine),
        files_(&files),
        book_(environment),
        audit_(environment, book_),
        board_(environment, book_, repositories, rhythm.prune_after_ns,
               [this](const RunId& id) { return audit_.waits_with_its_result(id); }),
        card_runs_(environment),
        due_(environment, rhythm),
        leases_(environment),
        lateness_(environment),
        waits_(environment),
        access_(environment, book_),
        answers_(environment, book_),
        clock_(environment) {}

  [[nodiscard]] CommandBook& book() { return book_; }
  [[nodiscard]] const RegisterAudit& audit() const { return audit_; }
  [[nodiscard]] const BoardAudit& board() const { return board_; }
  [[nodiscard]] DueAudit& due() { return due_; }

  void applied(const World& world, std::span<const Record> records) override;
  void renewed(Token token) override {
    leases_.renewed(token);
    lateness_.renewed(token);
  }
  // Audits what became durable since the last call.
  void durable(const EventLog& log) override;
  // Returns how often each type of event has become durable.
  [[nodiscard]] const EventCounts& events() const { return events_; }
  [[nodiscard]] ClockCheck& clock() { return clock_; }
  // Notes that the server is stopped until then (monotonic), for so long that no lease may end by
  // it.
  void stopped_until(std::int64_t until_ns) { leases_.forgive(until_ns); }
  // Notes that the server gets no processor until then (monotonic): nothing that is due is late
  // before.
  void stalled_until(std::int64_t until_ns);
  // Looks for what is over and goes on. Called while the server could end it.
  void examine_lateness();
  void handled(const std::string& id, const std::optional<Uuid>& token) override {
    access_.handled(id, token);
  }
  void rolled_back() override;
  void has_space() override;
  [[nodiscard]] const AnswerJudge& answers() const { return answers_; }
  // Notes that a new life of the server has opened the log.
  void recovered(const EventLog& log);
  // Notes that a request has reached the server.
  void arrived(const std::string& id) { answers_.arrived(id); }
  // Checks an answer that leaves for a client, of the server that is the present one, or of another
  // of a cell. Returns the id of its request.
  std::string answered(const std::string& line, bool is_present = true);
  // Has the run-root files be those of another server.
  void look_at(const RunRootFiles& files) { files_ = &files; }
  // Checks an event that leaves for a subscriber.
  void delivered(const std::string& line);
  // Checks a list that a follower goes on from.
  void listed(const std::string& id, const std::string& method, const boost::json::object& result) {
    answers_.listed(id, method, result);
  }
  // Returns how long everything may take to come to rest once faults stop.
  [[nodiscard]] std::int64_t rest_ns_max() const;
  // Checks the final state, once everything has come to rest.
  void finished();

 private:
  void check_jobs();
  void check_refused_usage(const std::string& id, const boost::json::object& answer);
  void check_files(const SentCommand& sent, const std::string& id,
                   const boost::json::object& result);

  Environment& environment_;
  const SimulatedMachine& machine_;
  const RunRootFiles* files_;
  CommandBook book_;
  RegisterAudit audit_;
  BoardAudit board_;
  CardRunAudit card_runs_;
  DueAudit due_;
  std::deque<Record> accepted_;  // in order
  LeaseWatch leases_;
  LatenessWatch lateness_;
  WaitWatch waits_;
  AccessWatch access_;
  AnswerJudge answers_;
  ClockCheck clock_;
  EventCounts events_{};
  std::int64_t stalled_until_ns_ = 0;  // monotonic
};

}  // namespace signalbox::simulation
