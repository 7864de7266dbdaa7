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
  missing_token_check,    // a word of an old holder is taken for one of the present
  effect_before_commit,   // a job is submitted when it was decided, not when that is durable
  wall_clock_lease,       // a lease runs on the clock that people set
  marker_not_cleared,     // a tick that ended with an error leaves its marker
  dropped_dedupe,         // a command id that was seen before is forgotten
  forgotten_timers,       // after a start nobody looks at the leases and waits of before
  unwatched_clock,        // nobody notices that the wall clock was set
  jump_ends_leases,       // that is noted, and no lease is set anew
  unheard_beats,          // deadlines don't hear that their holder is there and gets on
  pause_starts_attempts,  // a paused run is claimed as any other
  lock_loss_untold,       // who said which lock it needs isn't ended with it
  foreign_lock_overwritten,
  foreign_marker_ignored,
  answer_before_files,  // who is told of a file doesn't find it
  silent_recovery,      // nothing says what a crash left in flight
};
BOOST_DESCRIBE_ENUM(Mutant, none, missing_token_check, effect_before_commit, wall_clock_lease,
                    marker_not_cleared, dropped_dedupe, forgotten_timers, unwatched_clock,
                    jump_ends_leases, unheard_beats, pause_starts_attempts, lock_loss_untold,
                    foreign_lock_overwritten, foreign_marker_ignored, answer_before_files,
                    silent_recovery)

const char* name_of(Mutant mutant);
std::optional<Mutant> mutant_of(const std::string& name);
// All but `none`.
std::vector<Mutant> all_mutants();

}  // namespace signalbox::simulation
