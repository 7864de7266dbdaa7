#include "tests/simulation/mutant.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace signalbox::simulation {
namespace {

// In the order of the enumeration, which has more than Boost.Describe can describe.
constexpr auto mutant_names = std::to_array<const char*>({"none",
                                                          "missing_token_check",
                                                          "effect_before_commit",
                                                          "wall_clock_lease",
                                                          "marker_not_cleared",
                                                          "dropped_dedupe",
                                                          "forgotten_timers",
                                                          "unwatched_clock",
                                                          "jump_ends_leases",
                                                          "unheard_beats",
                                                          "unheard_renewals",
                                                          "pause_starts_attempts",
                                                          "lock_loss_untold",
                                                          "foreign_lock_overwritten",
                                                          "foreign_marker_ignored",
                                                          "answer_before_files",
                                                          "silent_recovery",
                                                          "step_token_unchecked",
                                                          "dependencies_ignored",
                                                          "completed_steps_forgotten",
                                                          "budget_unchecked",
                                                          "usage_unheard",
                                                          "quota_reset_ignored",
                                                          "approval_counts_twice",
                                                          "decision_for_whoever_asks",
                                                          "due_for_ever",
                                                          "retry_begins_anew",
                                                          "revoked_token_works",
                                                          "project_limit_forgotten",
                                                          "key_ignored",
                                                          "priority_ignored",
                                                          "blocked_retry_early",
                                                          "card_untold",
                                                          "tick_counted_twice",
                                                          "due_ticks_forgotten",
                                                          "skip_unrecorded",
                                                          "resume_ref_kept",
                                                          "late_tick_dropped",
                                                          "worktree_forgotten",
                                                          "policy_read_once",
                                                          "bad_policy_taken",
                                                          "lock_token_unchecked",
                                                          "tick_token_unchecked",
                                                          "old_view_shown",
                                                          "agent_timeout_ignored",
                                                          "claim_under_old_lock",
                                                          "late_timers",
                                                          "holder_refused",
                                                          "failed_run_orphaned",
                                                          "service_pause_ignored",
                                                          "subscription_late",
                                                          "event_before_commit",
                                                          "slow_reader_skipped",
                                                          "list_of_later_position",
                                                          "open_run_dropped",
                                                          "grant_dropped",
                                                          "young_record_dropped",
                                                          "text_left_in_snapshot",
                                                          "reads_believed",
                                                          "warning_is_ok",
                                                          "take_without_append",
                                                          "beat_by_wall_clock",
                                                          "follower_reads_unacked",
                                                          "append_without_epoch",
                                                          "absent_means_never_ran",
                                                          "answers_unproved",
                                                          "deposed_serves_on",
                                                          "stopped_serves_on",
                                                          "resend_with_new_salt",
                                                          "trimmed_too_far"});
static_assert(mutant_names.size() == static_cast<std::size_t>(Mutant::trimmed_too_far) + 1);

}  // namespace

const char* name_of(Mutant mutant) { return mutant_names.at(static_cast<std::size_t>(mutant)); }

std::optional<Mutant> mutant_of(const std::string& name) {
  const auto place = std::find(mutant_names.begin(), mutant_names.end(), std::string_view(name));
  if (place == mutant_names.end()) return std::nullopt;
  return static_cast<Mutant>(place - mutant_names.begin());
}

bool is_of_cell(Mutant mutant) { return mutant >= Mutant::reads_believed; }

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> mutants;
  for (std::size_t number = 1; number < mutant_names.size(); ++number) {
    mutants.push_back(static_cast<Mutant>(number));
  }
  return mutants;
}

}  // namespace signalbox::simulation
