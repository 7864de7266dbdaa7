// The retry policy: what follows an attempt that ended without success. That is a retry, the next
// strategy, or the end of the run. Apart from decide_station.cc because timers and lost locks end
// attempts, too.
#pragma once

#include <string>
#include <string_view>

#include "domain/decide.h"

namespace signalbox {

// Code of the failure of a run because a person rejected an approval.
inline constexpr std::string_view rejected_code = "REJECTED";

// Code of the failure of a run whose work changes what checks it, where the policy refuses that.
inline constexpr std::string_view checks_changed_code = "CHECKS_CHANGED";

// The code of a push that failed: all other work of its run is done.
inline constexpr std::string_view push_failed_code = "PUSH_FAILED";

// The code of a card whose run did its work and couldn't propose it for another reason than its
// push, such as a repository that is away, or what the worktree holds. The message begins with the
// code of the run.
inline constexpr std::string_view not_proposed_code = "NOT_PROPOSED";

// Returns whether all work of a card with this code is done, but not proposed.
constexpr bool is_only_unproposed(std::string_view code) {
  return code == push_failed_code || code == not_proposed_code;
}

// The codes of create_pr for work that no commit should hold as it is: it stays in the worktree.
inline constexpr std::string_view nested_repository_code = "NESTED_REPOSITORY";
inline constexpr std::string_view file_too_large_code = "FILE_TOO_LARGE";
inline constexpr std::string_view file_refused_code = "FILE_REFUSED";
inline constexpr std::string_view left_out_refs_full_code = "LEFT_OUT_REFS_FULL";

// The code of a built-in station for a worktree whose .git isn't what git made: it has to be
// repaired before git can commit, or keep, what is in it.
inline constexpr std::string_view workspace_tampered_code = "WORKSPACE_TAMPERED";

// Returns whether a run failed because of what its worktree holds, so that a person has to look
// into that before anything else is done with it. A card's run keeps its worktree until then. If it
// was its create_pr that failed, the card's code is `not_proposed_code`.
constexpr bool needs_look_at_worktree(std::string_view code) {
  return code == nested_repository_code || code == file_too_large_code ||
         code == file_refused_code || code == left_out_refs_full_code ||
         code == workspace_tampered_code;
}

enum class Retrying : std::uint8_t { by_policy, never };

// Returns the events that end `run`'s attempt with `failure`, as one commit. They are
// StationAttemptFailed if the retry policy allows another attempt, else StationFailed or
// StationTimedOut, and RunFailed. The run has an attempt.
NewEvents end_attempt(const Run& run, Failure failure, AttemptResult result, const Now& now,
                      Retrying retrying = Retrying::by_policy);

// Returns whether the event ends a station's attempt, in whatever way.
bool ends_attempt(const Event& event);

// Returns the WatchdogTimedOut of `run`'s attempt, to be committed before the events that end it.
NewEvent watchdog_timed_out(const Run& run, std::int64_t elapsed_ms);

// Returns the events that end `run`'s attempt according to the action of its latest stall, which
// isn't a nudge.
NewEvents end_stalled_attempt(const Run& run, AttemptResult result, const Now& now);

// Returns the action that `station` configures for the stall with index `stalls` (from 0) of an
// attempt. The last action is repeated.
StallAction stall_action(const StationDefinition& station, std::uint32_t stalls);

// Returns a description of how a failed attempt ended, which the next attempt gets (Run::previous).
// At most 1 KiB. evolve() uses it, so its text is part of the state.
std::string previous_text(const Failure& failure, const AttemptResult& result);

}  // namespace signalbox
