// Bugs that the simulator must find. They are seeded into the simulator's own wiring of the
// service, never into the service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::simulation {

enum class Mutant : std::uint8_t {
  none,
  missing_token_check,    // a request with an old token is accepted as one of the present holder
  effect_before_commit,   // a job is submitted when it is decided, before that is durable
  wall_clock_lease,       // a lease runs on the wall clock, which people set
  marker_not_cleared,     // a tick that ended with an error leaves its marker
  dropped_dedupe,         // a command id that was seen before is forgotten
  forgotten_timers,       // after a start, earlier leases and waits aren't armed
  unwatched_clock,        // a set wall clock isn't noticed
  jump_ends_leases,       // a clock jump is recorded, and no lease is renewed
  unheard_beats,          // heartbeats and progress don't extend deadlines
  unheard_renewals,       // those that aren't recorded don't
  pause_starts_attempts,  // a paused run can be claimed like any other
  lock_loss_untold,       // a holder isn't ended with the lock that it said it needs
  foreign_lock_overwritten,
  foreign_marker_ignored,
  answer_before_files,        // an answer names a file that isn't written yet
  silent_recovery,            // nothing says what a crash left in flight
  step_token_unchecked,       // like missing_token_check, for the steps of plans
  dependencies_ignored,       // any step of a plan can be started
  completed_steps_forgotten,  // at a start
  budget_unchecked,           // a run that used up its budget goes on
  usage_unheard,              // what a worker used up isn't counted
  quota_reset_ignored,        // a station that met a usage limit is retried at once
  approval_counts_twice,      // one approval also approves the next station
  decision_for_whoever_asks,  // the station that a decision names isn't compared
  due_for_ever,               // what is due isn't done, and stays due
  retry_begins_anew,          // a retried run repeats its succeeded stations
  revoked_token_works,        // on a connection that has shown it before
  project_limit_forgotten,    // the limit of agents in a project, at a start
  key_ignored,                // cards with the same key are worked on at once
  priority_ignored,           // the oldest card comes first
  blocked_retry_early,        // a blocked card is retried before its time
  card_untold,                // after a start, the end of a card's run doesn't reach the card
  tick_counted_twice,         // a due tick that has its event is reported missed at the next start
  due_ticks_forgotten,        // at a start: missed ticks are never reported
  skip_unrecorded,            // a tick that is due while another is under way leaves no event
  resume_ref_kept,            // a station resumes the session of the one before it
  late_tick_dropped,          // a loop that is late by more than its interval doesn't tick
  worktree_forgotten,         // after a start, worktrees of ended runs aren't removed
  policy_read_once,           // later changes of the file aren't seen
  bad_policy_taken,           // a policy that can't be parsed counts as the default
  lock_token_unchecked,       // like missing_token_check, for locks
  tick_token_unchecked,       // likewise, for ticks
  old_view_shown,             // a query is answered with what it showed before
  agent_timeout_ignored,      // agents have the usual time, whatever the policy says
  claim_under_old_lock,       // a waiting claim begins although its lock's lease is over
  late_timers,                // the end of a lease or wait is noticed late
  holder_refused,             // a heartbeat of the present holder is refused
  failed_run_orphaned,        // at a start, the worktree of a failed run goes like an orphan
  service_pause_ignored,      // attempts, cards and merges begin while the service is paused
  subscription_late,          // it begins one record after the one that it was asked for
  event_before_commit,        // subscribers get records when they are decided
  slow_reader_skipped,        // what a slow subscriber has no room for is dropped
  list_of_later_position,     // a list names a later position than the one that it shows
  open_run_dropped,           // a retention drops the start of a run that is open
  grant_dropped,              // a retention drops the grant of a lock that is held
  young_record_dropped,       // a retention drops what is younger than its age
  text_left_in_snapshot,      // a redaction leaves the snapshot that was made before it
  // Of several servers, with the traps of BEHAVIOURS.md K2 that are about what is believed. The
  // rest of K2 is about how PostgreSQL behaves, which the simulator has no part of.
  reads_believed,          // a new writer takes what it can read for all that there is
  warning_is_ok,           // what one machine of the database has counts as acknowledged
  take_without_append,     // a new writer writes nothing before it believes what it reads
  beat_by_wall_clock,      // a standby measures the writer's silence by the wall clock
  follower_reads_unacked,  // a standby follows what isn't acknowledged
  append_without_epoch,    // a server from which the log was taken goes on writing
  absent_means_never_ran,  // a job that isn't on this machine is executed again
  answers_unproved,        // an answer for the present waits for no proof that it is
  deposed_serves_on,       // the same, and a server whose log is away goes on answering so
  stopped_serves_on,     // the same, and one that was stopped answers before it looks at its clocks
  resend_with_new_salt,  // an append without an answer is sent again with other bytes
  trimmed_too_far,       // the database removes links that a server doesn't have yet
};

const char* name_of(Mutant mutant);
// Returns nullopt if there is no such mutant.
std::optional<Mutant> mutant_of(const std::string& name);
// Returns whether the bug shows only where several servers share a log.
bool is_of_cell(Mutant mutant);
// Returns all mutants except `none`.
std::vector<Mutant> all_mutants();

}  // namespace signalbox::simulation
