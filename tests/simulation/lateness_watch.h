// Checks that what is over ends: leases (of stations, steps, locks, ticks) and timeouts. Too late
// is as wrong as too early, which lease_watch.h checks. Whoever waits for the station, lock or loop
// waits for that end, and holders that depend on a lock have to hear at once that it is lost. L8 W1
// W2
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/event_log.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class LatenessWatch {
 public:
  explicit LatenessWatch(Environment& environment) : environment_(environment) {}

  // Follows a record that the server applied.
  void applied(const Record& record) { follow(record, applied_); }
  // Follows a renewal of the token's lease that isn't recorded.
  void renewed(Token token) { renew(token, 0, applied_); }
  // Follows a durable record.
  void durable(const Record& record) { follow(record, durable_); }
  // Drops what was applied but isn't durable, and counts everything from now, as a new life of the
  // server does, and one that has disk space again.
  void begin_anew();
  // Counts everything from then (monotonic), because the server gets no processor until then.
  void excuse(std::int64_t until_ns) { excused_until_ns_ = until_ns; }

  // Reports what is over and goes on. Called while the server could end it.
  void examine();

 private:
  // An attempt, step, lock or tick that is under way.
  struct Held {
    std::string what;  // for the report
    RunId run_id{};    // of an attempt or step
    Token lock = 0;    // the lock that it depends on, or 0
    bool is_lock = false;
    bool is_step = false;
    std::int64_t lease_ms = 0;
    std::int64_t lease_since_ns = 0;  // monotonic
    std::int64_t timeout_ms = 0;      // 0: none
    std::int64_t timeout_since_ns = 0;
    std::string progress;
  };
  struct State {
    std::map<Token, Held> held;
    std::map<Digest, PipelineDefinition> pipelines;
    std::map<RunId, Digest> pipeline_of_run;
    std::set<RunId> paused;    // attempts of these have no timeout
    std::set<RunId> canceled;  // attempts of these end with their jobs
  };

  void follow(const Record& record, State& state) const;
  void follow_run(const Record& record, State& state) const;
  void follow_attempt(const Record& record, State& state) const;
  void follow_lock(const Record& record, State& state) const;
  void follow_tick(const Record& record, State& state) const;
  void begin(const Record& record, State& state, Held held) const;
  // `lease_ms` of 0: as long as before.
  void renew(Token token, std::int64_t lease_ms, State& state) const;
  void make_progress(Token token, const std::string& progress, State& state) const;
  // Counts lease and timeout of all attempts of the run anew.
  void restart(const RunId& run_id, State& state) const;
  static void end_all(const RunId& run_id, State& state);
  static void end_steps(const RunId& run_id, State& state);
  static const StationDefinition* station_of(const State& state, const RunId& run_id,
                                             const std::string& name);

  [[nodiscard]] bool has_dependents(Token lock) const;
  // Returns by how much an end that was due so long after its beginning is late; negative: it
  // isn't.
  [[nodiscard]] std::int64_t late_ns(std::int64_t since_ns, std::int64_t length_ms) const;

  Environment& environment_;
  State applied_;  // as the server has it
  State durable_;  // as the log has it
  std::int64_t excused_until_ns_ = 0;
};

}  // namespace signalbox::simulation
