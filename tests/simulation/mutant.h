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
  answer_before_files,        // who is told of a file doesn't find it
  silent_recovery,            // nothing says what a crash left in flight
  step_token_unchecked,       // as missing_token_check, of the steps of plans
  dependencies_ignored,       // any step of a plan can be taken
  completed_steps_forgotten,  // over a start
  budget_unchecked,           // a run that used up its budget goes on
  usage_unheard,              // what a worker used up isn't counted
  quota_reset_ignored,        // a usage limit that was met is tried again at once
  approval_counts_twice,      // who approved one thing has approved the next one, too
  decision_for_whoever_asks,  // which station was decided about isn't looked at
  due_for_ever,               // what is due isn't done, and stays due
  retry_begins_anew,          // a failed run that is retried does its stations over again
  revoked_token_works,        // on a connection that has shown it before
  project_limit_forgotten,    // how many agents a project may have, over a start
  key_ignored,                // cards of one key are worked on side by side
  priority_ignored,           // the oldest card comes first
  blocked_retry_early,        // a blocked card goes on before its time
  card_untold,                // after a start a card doesn't hear of the end of its run
  tick_counted_twice,         // a due tick that has its event is missed at the next start
  due_ticks_forgotten,        // over a start: those that were missed are told by nobody
  skip_unrecorded,            // a tick that is due while one is under way leaves nothing
  worktree_forgotten,         // after a start nobody removes those of runs that ended
  policy_read_once,           // what changes later isn't seen
  bad_policy_taken,           // one that can't be understood counts as the default
};
BOOST_DESCRIBE_ENUM(Mutant, none, missing_token_check, effect_before_commit, wall_clock_lease,
                    marker_not_cleared, dropped_dedupe, forgotten_timers, unwatched_clock,
                    jump_ends_leases, unheard_beats, pause_starts_attempts, lock_loss_untold,
                    foreign_lock_overwritten, foreign_marker_ignored, answer_before_files,
                    silent_recovery, step_token_unchecked, dependencies_ignored,
                    completed_steps_forgotten, budget_unchecked, usage_unheard, quota_reset_ignored,
                    approval_counts_twice, decision_for_whoever_asks, due_for_ever,
                    retry_begins_anew, revoked_token_works, project_limit_forgotten, key_ignored,
                    priority_ignored, blocked_retry_early, card_untold, tick_counted_twice,
                    due_ticks_forgotten, skip_unrecorded, worktree_forgotten, policy_read_once,
                    bad_policy_taken)

const char* name_of(Mutant mutant);
std::optional<Mutant> mutant_of(const std::string& name);
// All but `none`.
std::vector<Mutant> all_mutants();

}  // namespace signalbox::simulation
