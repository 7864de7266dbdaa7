// The retention of a simulation: its settings, its archive, and the judge of what it drops. G17
//
// The service's own loop plans, drops and concludes; only the archive is simulated, and the process
// may be killed before and after each step. The judge knows the log from its records alone, of
// which it keeps a copy: what was open at the horizon, or has got records since, has to be there
// whole; what was over has to be gone; and nothing younger than the policy may be touched.
//
// It has randomness of its own, and takes place in one simulation of eight, so that all others take
// the same course as without it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/scheduler/retention_outcome.h"
#include "store/droppable_log.h"
#include "tests/simulation/environment.h"
#include "tests/simulation/log_model.h"

namespace signalbox::simulation {

// Returns whether the service of this simulation drops old records.
bool has_retention(std::uint64_t seed, Mutant mutant);

class Retention {
 public:
  // `whole` has all records of `log`, the dropped ones as well.
  Retention(Environment& environment, const EventLog& log, const EventLog& whole);

  [[nodiscard]] const RetentionSettings& settings() const { return settings_; }
  // Plans and archives as the program does for a service (StageRetention).
  StagedRetention stage(const DroppableLog& log, std::int64_t now_ns,
                        const std::atomic<bool>& stopped);
  // Returns true if the process is killed at this step.
  bool crashes(const char* step);
  // Returns how long the next step of the retention takes.
  std::int64_t duration_ns();
  // Judges a drop that is durable.
  void dropped();

 private:
  // A run or card, by what the log says of it.
  struct Noun {
    std::vector<Position> records;
    Position failed_at = 0;  // of the latest RunFailed
  };
  // What the latest drop was planned by.
  struct Plan {
    Position tail = 0;
    std::int64_t until_ns = 0;         // UTC; older records may go
    std::int64_t failed_until_ns = 0;  // UTC; runs that failed earlier may go
    std::set<Uuid> dropped_nouns;
  };

  void read_on();
  void read(const Record& record);
  void tamper(HistoryDrop& drop) const;
  void judge_ages(Position before, const Horizon& horizon);
  void judge_runs(const Horizon& horizon);
  void judge_cards(const Horizon& horizon);
  void judge_grants(const Horizon& horizon);
  void note_dropped(const Horizon& horizon);

  // Returns why all records of the run have to stay; empty: they needn't.
  [[nodiscard]] std::string reason_to_keep(const Uuid& id, const Noun& run,
                                           const Horizon& horizon) const;
  // Requires that no record of the noun was dropped.
  void expect_whole(const std::string& what, const Noun& noun, const Horizon& horizon);
  // Requires that a record is still there.
  void expect_there(const std::string& what, Position position, const Horizon& horizon);
  // Requires that the noun's records are gone, but for those of commits that others share.
  void expect_gone(const std::string& what, const Noun& noun, const Horizon& horizon);
  [[nodiscard]] static bool has_records_after(const Noun& noun, Position horizon);

  Environment& environment_;
  const EventLog& log_;
  const EventLog& whole_;
  RetentionSettings settings_;
  Plan plan_;
  LogModel model_;
  std::map<Uuid, Noun> runs_;
  std::map<Uuid, Noun> cards_;
  std::set<Uuid> runs_of_cards_;
  Versions<Position> paused_at_;                   // of the pause in force, or 0
  std::vector<std::int64_t> recorded_at_ns_{0};    // by position
  std::vector<std::string> command_ids_{""};       // likewise
  std::map<std::string, PositionRange> archives_;  // by path
};

}  // namespace signalbox::simulation
