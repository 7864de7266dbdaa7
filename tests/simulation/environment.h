// The state that everything in a simulation shares: randomness, time, faults, the trace, and the
// verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/horizon.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/mutant.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/seeded_random.h"
#include "tests/simulation/trace.h"

namespace signalbox::simulation {

// What retentions have dropped from the log.
struct DroppedHistory {
  Horizon horizon;
  std::set<std::string> commands;  // ids of commands whose first result was dropped
  std::set<std::string> runs;      // ids of those whose records were dropped
  std::set<std::string> cards;     // likewise
  std::set<std::string> going;     // ids of runs and cards whose records are about to be dropped
};

struct Environment {
  Environment(std::uint64_t seed_of_it, Mutant seeded_bug, std::size_t trace_lines,
              bool has_retention = false, bool has_redactions = false, bool in_cell = false)
      : seed(seed_of_it),
        random(seed_of_it),
        faults(random),
        trace(trace_lines),
        mutant(seeded_bug),
        retains(has_retention),
        redacts(has_redactions),
        is_cell(in_cell) {}

  void note(std::string_view what) { trace.note(schedule.monotonic_ns(), what); }

  // Records a violation. The first one of a simulation is its verdict.
  void violate(const std::string& what) {
    note("VIOLATION " + what);
    if (!violation) violation = what;
  }
  // Records a violation unless `fact` holds.
  void expect(bool fact, const std::string& what) {
    if (!fact) violate(what);
  }

  // Asks for the server process whose step this is to be killed after it.
  void crash(std::string_view why) {
    note("crash: " + std::string(why));
    crash_wanted = true;
    crashed = schedule.running();
  }

  const std::uint64_t seed;
  SeededRandom random;
  Schedule schedule;
  Faults faults;
  Trace trace;
  Mutant mutant;
  std::optional<std::string> violation;
  bool crash_wanted = false;
  Owner crashed = outside;  // the life that is to end, in a cell

  // Randomness and time of those who only read. They stay out of the others' way, so that the same
  // seed takes the same course with and without them.
  SeededRandom reading_random{seed ^ 0x52656164};
  Schedule reading;  // is brought to the time of `schedule` before each step

  // Whether the service drops old records, with randomness of its own: without it, a seed takes the
  // course that it took before there were retentions.
  const bool retains;
  SeededRandom retention_random{seed ^ 0x52657461};
  DroppedHistory dropped;

  // Whether texts are redacted while the service serves, likewise with randomness of its own.
  const bool redacts;
  SeededRandom redaction_random{seed ^ 0x52656461};

  // Whether several servers share the log.
  const bool is_cell;
};

}  // namespace signalbox::simulation
