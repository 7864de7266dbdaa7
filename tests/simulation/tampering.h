// What mutants change in the lines that come in and in the world that they are decided on: bugs
// that the service doesn't have.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "domain/command.h"
#include "domain/world.h"
#include "tests/simulation/any_settings.h"
#include "tests/simulation/mutant.h"

namespace signalbox {
class Clock;
class Engine;
class ServiceLoops;
}  // namespace signalbox

namespace signalbox::simulation {

// Returns the request line as the mutant changes it.
std::string tampered_line(Mutant mutant, const World& world, const std::string& line);

// Answers some queries as they were answered before.
class OldViews {
 public:
  // Returns the answer to a request for these params as the mutant changes it.
  std::string tampered_answer(Mutant mutant, const std::string& method,
                              const boost::json::object& params, const std::string& line);

 private:
  std::map<std::string, boost::json::object> shown_;  // by request: its first result
};

// Changes the world after records were applied.
void tamper_with(Mutant mutant, const World& world, std::span<const Record> records);
// Changes the world of a start, which was just folded from the log.
void tamper_with_start(Mutant mutant, const BoardRhythm& rhythm, World& world);
// Drops ticks that are due: those while another one is under way, or those that are late. Called
// before the board's loops run what is due.
void tamper_with_due(Mutant mutant, const Engine& engine, const ServiceLoops& loops,
                     const Clock& clock);

// Returns a command that nobody sent and that the mutant derives from the record.
std::optional<Command> injected_command(Mutant mutant, const Record& record);

// Returns true if the mutant's world differs from the log. The comparison with the log is skipped
// then: it alone would find the mutant, and the consequences are to be found.
bool differs_from_log(Mutant mutant);

}  // namespace signalbox::simulation
