// What mutants do to the lines that come in and to the world that they are decided on: bugs that
// the service doesn't have.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "domain/command.h"
#include "domain/world.h"
#include "tests/simulation/board_rhythm.h"
#include "tests/simulation/mutant.h"

namespace signalbox {
class ServiceLoops;
}

namespace signalbox::simulation {

// A request as it is taken.
std::string tampered_line(Mutant mutant, const World& world, const std::string& line);

// After records were applied.
void tamper_with(Mutant mutant, const World& world, std::span<const Record> records);
// At a start, with the world as the log has it.
void tamper_with_start(Mutant mutant, const BoardRhythm& rhythm, World& world);
// Before the board's loops do what is due: a tick that is due while one is under way is none.
void pass_over_skips(const World& world, const ServiceLoops& loops, std::int64_t monotonic_ns);

// A command that nobody gave, and that follows from the record.
std::optional<Command> unasked(Mutant mutant, const Record& record);

// The mutant's world isn't that of the log: that alone would find it, and what follows is to be
// seen.
bool parts_from_log(Mutant mutant);

}  // namespace signalbox::simulation
