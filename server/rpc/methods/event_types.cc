// `events.types`: every type of event with a sentence, its noun and its fields.
#include "server/rpc/methods/event_types.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <variant>

#include "server/rpc/command_call.h"
#include "server/text/json_schema.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct Sentence {
  std::string_view type;
  std::string_view text;
};

constexpr std::array event_sentences = {
    Sentence{"ServerStarted", "The service started; the number is that of its incarnation."},
    Sentence{"ServerStopped", "The service stopped by request, with nothing left to write."},
    Sentence{"RecoveryFinished", "After a crash, everything that was in flight has its verdict."},
    Sentence{"ClockJumped",
             "The machine slept, was paused, or its time was set; all leases start anew."},
    Sentence{"RunsPruned", "Runs that ended long ago left the memory; lists still have them."},
    Sentence{"HistoryDropped", "Old records were moved from the log into an archive."},
    Sentence{"ProjectionRebuilt", "Damaged read models were computed from the log again."},
    Sentence{"ServicePaused", "Nothing new begins until the service is resumed; the rest goes on."},
    Sentence{"ServiceResumed", "The paused service starts attempts, cards and merges again."},
    Sentence{"CellTaken", "This server of the cell writes the log from here on."},
    Sentence{"RunStarted", "A run was accepted and waits for its first attempt."},
    Sentence{"RunSucceeded", "All stations of the run succeeded."},
    Sentence{"RunFailed", "A station failed for good, and the run with it."},
    Sentence{"RunCancelRequested", "Somebody asked to cancel the run; its job is being ended."},
    Sentence{"RunCanceled", "The run ended because it was canceled."},
    Sentence{"RunPaused", "No attempt starts until the run is resumed."},
    Sentence{"RunResumed", "The paused run goes on where it was."},
    Sentence{"RunBudgetRaised", "The run's budget was replaced."},
    Sentence{"RunRetried", "A failed run was reopened at the station that failed."},
    Sentence{"LateUsageReported", "What an attempt had used up, told only after it had ended."},
    Sentence{"StationClaimed", "An attempt starts; the event's position is its token."},
    Sentence{"StationSubmitIntended", "The attempt's job is about to be submitted."},
    Sentence{"StationExternalRefSet", "The executor's own id of the attempt's job is known."},
    Sentence{"StationHeartbeat", "The attempt's worker renewed its lease."},
    Sentence{"StationSucceeded", "The attempt succeeded, and the station with it."},
    Sentence{"StationAttemptFailed", "The attempt failed; another one will follow."},
    Sentence{"StationFailed", "The attempt failed, and no other one follows."},
    Sentence{"StationTimedOut", "The last attempt took too long, and no other one follows."},
    Sentence{"StationDeferred", "The worker gave the attempt back until later, without a failure."},
    Sentence{"StationReady", "The wait is over: the station can be claimed again."},
    Sentence{"StationCanceled", "The station ended because its run was canceled."},
    Sentence{"CancelConfirmed", "The canceled job has ended with all its descendants."},
    Sentence{"CancelEscaped", "Processes outlived the cancellation of their job."},
    Sentence{"StationStalled", "The attempt is alive but made no progress for too long."},
    Sentence{"StationProgressed", "A stalled attempt made progress."},
    Sentence{"WatchdogTimedOut", "The attempt exceeded its timeout and is being ended."},
    Sentence{"StationUsageReported", "What the attempt used: cost, tokens and turns."},
    Sentence{"StationHeld", "The station waits for a person: for a decision or a larger budget."},
    Sentence{"StationApproved", "A person approved what waited for a decision."},
    Sentence{"StationRejected", "A person rejected what waited for a decision."},
    Sentence{"StationApprovalRequested",
             "The attempt asked for an approval, and goes on meanwhile."},
    Sentence{"StationApprovalGiven", "A person approved what an attempt under way asked for."},
    Sentence{"StationResultHeld", "The attempt succeeded before its question was decided."},
    Sentence{"LockAcquired", "A lock was granted; the event's position is its token."},
    Sentence{"LockRefreshed", "The holder renewed the lock's lease."},
    Sentence{"LockReleased", "The holder released the lock."},
    Sentence{"LockExpired", "The lock's lease ended without a refresh or a release."},
    Sentence{"LockRefreshFailed",
             "Somebody who doesn't hold the lock tried to renew or release it."},
    Sentence{"LockFileReplaced", "A lock file without a live holder was replaced."},
    Sentence{"TickStarted", "A turn of a loop begins; the event's position is its token."},
    Sentence{"TickSucceeded", "The turn of the loop ended well."},
    Sentence{"TickFailed", "The turn of the loop ended with an error."},
    Sentence{"TickSkipped", "A turn was due and didn't begin."},
    Sentence{"TickIncompleteDetected",
             "The previous turn has no end: the loop halts until recovery."},
    Sentence{"TickRecovered", "The halted loop was recovered."},
    Sentence{"TickTimedOut", "The turn's lease ended before the turn did."},
    Sentence{"TickMissed", "Due times of the loop passed while no turn could begin."},
    Sentence{"ExplorationFinished", "The exploration before a plan has its result."},
    Sentence{"ExplorationTimedOut", "The exploration took too long; the work goes on without it."},
    Sentence{"PlanSet", "The station has a plan: its steps and their dependencies."},
    Sentence{"PlanReset", "All steps but the completed ones were dropped; a new plan is needed."},
    Sentence{"StepAttemptStarted",
             "An attempt at a step starts; the event's position is its token."},
    Sentence{"StepHeartbeat", "The step's worker renewed its lease."},
    Sentence{"StepCompleted", "The step is done."},
    Sentence{"StepAttemptFailed", "The attempt at the step failed; another one will follow."},
    Sentence{"StepReady", "The delay before the step's next attempt is over."},
    Sentence{"StepFailed", "The attempt at the step failed, and no other one follows."},
    Sentence{"StepBlocked", "The step can't be done until what it waits for is."},
    Sentence{"StepReopened", "A failed or blocked step is pending again."},
    Sentence{"PlanRestored", "The plan of a retried run goes on; completed steps stay completed."},
    Sentence{"ProjectPut", "A project was created or changed."},
    Sentence{"PolicyAdopted", "A new version of the project's policy file is in force."},
    Sentence{"PolicyRefused", "The project's policy file isn't valid; the policy in force stays."},
    Sentence{"WorktreeRemoved", "The worktree of an ended run was removed."},
    Sentence{"WorktreeLeft", "A worktree was left in place because it holds work or can't go."},
    Sentence{"CardSubmitted", "A card was put on the board."},
    Sentence{"CardStarted",
             "The card's run starts, or goes on with its push, with the next event."},
    Sentence{"CardVerificationStarted",
             "The card's run has reached the station that checks the work."},
    Sentence{"CardVerified", "The card's run succeeded, the push included."},
    Sentence{"CardBlocked", "The card waits for its retry, or until somebody unblocks it."},
    Sentence{"CardFailed", "The last run that the policy allows the card failed, or its merge."},
    Sentence{"CardUnblocked", "The card goes on: back in the backlog, or to its merge."},
    Sentence{"CardMergeStarted", "The run that merges the card starts with the next event."},
    Sentence{"CardMergeDeferred", "The merge failed for an outside reason; another one follows."},
    Sentence{"CardMerged", "The card's work is merged."},
    Sentence{"CardPrioritySet", "The card is worked on earlier or later than others from now on."},
    Sentence{"AccessTokenIssued", "A secret was issued that stands for a name and a role."},
    Sentence{"AccessTokenRevoked", "The access token isn't valid any more."},
    Sentence{"AccessDenied", "A caller was refused for lack of rights."},
    Sentence{"AuditKeyAdopted", "From here on the log's tree is signed with this key."},
    Sentence{"PayloadRedacted", "Free text of an earlier record was erased."},
    Sentence{"RunnerDrained", "The runner gets no new jobs; those that it has go on."},
    Sentence{"RunnerUndrained", "The drained runner gets jobs again."},
    Sentence{"RunnerEvicted", "The runner counts as gone for good; its jobs are lost."},
    Sentence{"RunnerReadmitted", "The evicted runner may report and get jobs again."},
};

json::object type_json(const EventTag& tag, const char* noun) {
  return {{"type", json::string_view(tag.name)},
          {"noun", noun},
          {"number", tag.number},
          {"version", tag.version},
          {"sentence", json::string_view(sentence_of(tag.name))}};
}

// Calls `add` with each type's tag, noun and description.
template <class... Types, class Add>
void for_types(std::type_identity<std::variant<Types...>> /*events*/, const char* noun,
               const Add& add) {
  (add(Types::tag, noun, described_json::type_of<Types>), ...);
}

template <class Add>
void for_each_type(const Add& add) {
  for_types(std::type_identity<ServerEvent::Alternatives>{}, "server", add);
  for_types(std::type_identity<RunEvent::Alternatives>{}, "run", add);
  for_types(std::type_identity<StationEvent::Alternatives>{}, "station", add);
  for_types(std::type_identity<LockEvent::Alternatives>{}, "lock", add);
  for_types(std::type_identity<TickEvent::Alternatives>{}, "tick", add);
  for_types(std::type_identity<PlanEvent::Alternatives>{}, "plan", add);
  for_types(std::type_identity<ProjectEvent::Alternatives>{}, "project", add);
  for_types(std::type_identity<CardEvent::Alternatives>{}, "card", add);
  for_types(std::type_identity<AccessEvent::Alternatives>{}, "access", add);
  for_types(std::type_identity<RunnerEvent::Alternatives>{}, "runner", add);
}

}  // namespace

std::string_view sentence_of(std::string_view type) {
  const auto found = std::ranges::find(event_sentences, type, &Sentence::type);
  return found == event_sentences.end() ? std::string_view() : found->text;
}

json::object event_types_view() {
  json::array types;
  for_each_type([&types](const EventTag& tag, const char* noun, const described_json::Type& type) {
    json::object shown = type_json(tag, noun);
    json::array& fields = shown["fields"].emplace_array();
    for (const described_json::Field& field : type.fields) fields.emplace_back(field.name);
    types.push_back(std::move(shown));
  });
  json::object result;
  result["types"] = std::move(types);
  return result;
}

json::array described_events() {
  json::array types;
  for_each_type([&types](const EventTag& tag, const char* noun, const described_json::Type& type) {
    json::object shown = type_json(tag, noun);
    shown["data"] = schema_of(type, JsonUse::written);
    types.push_back(std::move(shown));
  });
  return types;
}

}  // namespace signalbox
