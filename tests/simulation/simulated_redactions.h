// The redactions of a simulation: which texts are erased and when, and the judge of what is left of
// them. G17
//
// The service's own Redactions fold the redacted world and exchange it; only the plan is simulated,
// and the process may be killed before each step. Beside this judge, those of every simulation
// apply: the living world is that of a replay of the redacted log, and so is a snapshot with what
// came after it.
//
// They have randomness of their own, and take place in one simulation of eight, so that all others
// take the same course as without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/world.h"
#include "projections/table.h"
#include "server/scheduler/redactions.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

// Returns whether texts are redacted in this simulation.
bool has_redactions(std::uint64_t seed, Mutant mutant);

class SimulatedRedactions {
 public:
  SimulatedRedactions(Environment& environment, const EventLog& log)
      : environment_(environment), log_(log) {}

  // Returns how long it takes until the next redaction is asked for.
  std::int64_t pause_ns();
  // Returns a redaction of some texts that the log has; nullopt if none was found.
  std::optional<RedactionRequest> any_request();
  // Plans as the program does for a service (Redactions::Plan).
  Decided<PlannedRedaction> plan(const RedactionRequest& request) const;
  // Fills a salt.
  void fill(std::span<std::byte> bytes);
  // Returns true if the process is killed at this step.
  bool crashes(const char* step);
  // Returns how long the next step takes.
  std::int64_t duration_ns();

  // Judges a redaction that is answered: the log has it, and neither `rows` nor `world`, unless it
  // is nullptr, have the texts.
  void ended(const RedactionOutcome& outcome, const World* world, const Table& rows);
  // Judges the log, which has to have everything that was answered.
  void examine_log() const;

 private:
  // Returns the texts that the log has nowhere any more.
  [[nodiscard]] std::vector<std::string> gone_texts(const std::vector<FoundText>& erased) const;

  Environment& environment_;
  const EventLog& log_;
  std::map<Position, Event> answered_;  // by position of the record: its replacement
};

}  // namespace signalbox::simulation
