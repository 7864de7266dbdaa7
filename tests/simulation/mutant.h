// Bugs that the simulator must find: seeded into its own wiring of the service, never into the
// service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/enum.hpp>

namespace signalbox::simulation {

enum class Mutant : std::uint8_t {
  none,
  missing_token_check,   // a word of an old holder is taken for one of the present
  effect_before_commit,  // a job is submitted when it was decided, not when that is durable
  wall_clock_lease,      // a lease runs on the clock that people set
  marker_not_cleared,    // a tick that ended with an error leaves its marker
  dropped_dedupe,        // a command id that was seen before is forgotten
  forgotten_timers,      // after a start nobody looks at the leases and waits of before
};
BOOST_DESCRIBE_ENUM(Mutant, none, missing_token_check, effect_before_commit, wall_clock_lease,
                    marker_not_cleared, dropped_dedupe, forgotten_timers)

const char* name_of(Mutant mutant);
std::optional<Mutant> mutant_of(const std::string& name);
// All but `none`.
std::vector<Mutant> all_mutants();

}  // namespace signalbox::simulation
