// Derives card events from the events of a card's run or merge run, so that both are in one commit.
// Apart from decide_card.cc, which decides the commands about cards themselves.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "domain/attempt_end.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

// Returns whether the same may succeed later, with nothing changed.
bool is_passing(const RunFailed& failure) {
  return failure.error_class == ErrorClass::transient || failure.error_class == ErrorClass::lost ||
         failure.error_class == ErrorClass::quota;
}

// Returns whether the run's work was done, and only proposing it failed, which the same work may
// survive: for a reason that passes, or that a person mends in the repository's configuration or in
// the worktree.
bool failed_to_propose(const Run& run, const RunFailed& failure) {
  if (failure.code == push_failed_code) return true;
  const auto place = run.find_station(failure.station);
  return place && builtin_of(run.pipeline->stations[*place]) == BuiltinStation::create_pr &&
         (is_passing(failure) || failure.code == "REPOSITORY_INVALID" ||
          needs_look_at_worktree(failure.code));
}

// Gives the failure the code and the message that its card has. Another code than that of the run
// says where it failed, because the card goes on there (goes_on_with_run()).
RunFailed as_not_proposed(RunFailed failure) {
  if (failure.code == push_failed_code) return failure;
  const std::string message = failure.code + ": " + std::string(failure.message);
  failure.message = std::string(utf8_prefix(message, limits::reason_bytes_max));
  failure.code = std::string(not_proposed_code);
  return failure;
}

// Returns whether the code, of class config, is about how the repository, its base, or the service
// is set up, which is for their owner to mend. Any other may come from the work itself: what it
// merges makes a check's program disappear, or its checks change the worktree. A commit that is
// gone has to be made again.
bool is_about_setup(std::string_view code) {
  constexpr std::array<std::string_view, 9> codes{
      "BASE_NOT_FOUND",     "BASE_NOT_BRANCH",    "BASE_UNKNOWN",
      "REPOSITORY_INVALID", "REPOSITORY_DAMAGED", "WORKSPACE_TAKEN",
      "RUN_ROOT_INVALID",   "CHECKS_MISSING",     "CONFIG_MISSING"};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Returns whether a merge failed for a reason outside the card, so that a later merge may succeed:
// the repository is away, its owner has work in the base that is checked out there, or hasn't set
// up what the merge needs, or their hook doesn't take the merge's commit: all that its message says
// is the service's.
bool may_be_merged_later(const RunFailed& failure) {
  constexpr std::array<std::string_view, 3> codes{"BASE_MOVED", "BASE_CHECKED_OUT",
                                                  "COMMIT_FAILED"};
  if (std::find(codes.begin(), codes.end(), failure.code) != codes.end()) return true;
  if (failure.error_class == ErrorClass::config) return is_about_setup(failure.code);
  return is_passing(failure);
}

// Returns whether the checks of the merge failed, and not the merge itself or its push.
bool failed_in_checks(const Run* run, const RunFailed& failure) {
  const auto place = run == nullptr ? std::nullopt : run->find_station(failure.station);
  return place && run->pipeline->stations[*place].executor == ExecutorKind::checks;
}

// Derives the card events that follow from the events of one of the card's runs.
class CardOfRun {
 public:
  CardOfRun(const World& world, const Card& card, const RunId& run_id, const Now& now)
      : card_(card),
        policy_(world.projects.find(card.project)->second.policy),
        run_id_(run_id),
        now_(now) {}

  [[nodiscard]] bool is_merge() const { return card_.merge_run_id == run_id_; }

  std::optional<CardEvent> after(const Run* run, const StationClaimed& event) const {
    if (is_merge() || card_.status != CardStatus::running || run == nullptr) return std::nullopt;
    const StationDefinition& station = run->pipeline->stations[*run->find_station(event.station)];
    if (station.executor != ExecutorKind::checks && station.name != "verify") return std::nullopt;
    return CardVerificationStarted{run_id_, event.station};
  }
  std::optional<CardEvent> after_success(const Run* run, const std::string& commit) const {
    if (is_merge()) return CardMerged{run_id_, commit};
    return CardVerified{run_id_, run->started_at, commit};
  }
  std::optional<CardEvent> after(const Run* run, const RunFailed& failure) const {
    const std::string& code = failure.code;
    // Work that a person has rejected isn't tried again until a person wants it to be.
    if (code == rejected_code) return CardBlocked{run_id_, code, failure.message, 0};
    // The work is verified, and another run would only do it again. After some merges the card
    // waits before the next one (merge_due_ns()).
    if (is_merge() && may_be_merged_later(failure)) {
      if (has_failed_in_checks_for_long(run, failure)) return blocked_by_checks(failure);
      return CardMergeDeferred{run_id_, code, failure.message};
    }
    // The work is done, but couldn't be proposed, which was tried for long (run_of_card()) where
    // that could help.
    if (!is_merge() && run != nullptr && failed_to_propose(*run, failure)) {
      return ended(as_not_proposed(failure), 0);
    }
    // A retry doesn't repair a missing configuration.
    if (!is_merge() && failure.error_class == ErrorClass::config) {
      return CardBlocked{run_id_, code, failure.message, 0};
    }
    // A station that isn't create_pr may say so, too. What becomes of the worktree is for a person
    // to decide.
    return ended(failure, !is_merge() && needs_look_at_worktree(code) ? 0 : retry_at_ns());
  }
  std::optional<CardEvent> after(const RunCanceled& event) const {
    return CardBlocked{run_id_, "CANCELED",
                       event.reason.empty() ? "its run was canceled" : event.reason, 0};
  }

 private:
  // After a failed merge, too, a retry is a whole run of the card, so the policy bounds it.
  [[nodiscard]] CardEvent ended(const RunFailed& failure, std::int64_t retry_at_ns) const {
    if (card_.runs >= policy_.max_attempts) {
      return CardFailed{run_id_, failure.code, failure.message};
    }
    return CardBlocked{run_id_, failure.code, failure.message, retry_at_ns};
  }
  // What passes for a machine that is busy, such as a timeout, may be the merged work's own fault.
  [[nodiscard]] bool has_failed_in_checks_for_long(const Run* run, const RunFailed& failure) const {
    return is_passing(failure) && card_.merges >= limits::card_checked_merges_max &&
           failed_in_checks(run, failure);
  }
  [[nodiscard]] CardBlocked blocked_by_checks(const RunFailed& failure) const {
    const std::string message = "after " + std::to_string(card_.merges) +
                                " merges, the checks of its merge still fail: " + failure.message;
    return {run_id_, failure.code, std::string(utf8_prefix(message, limits::reason_bytes_max)), 0};
  }
  [[nodiscard]] std::int64_t retry_at_ns() const {
    return now_.wall_ns + policy_.blocked_retry_minutes * ns_per_minute;
  }

  const Card& card_;
  const Policy& policy_;
  const RunId run_id_;
  const Now now_;
};

}  // namespace

void add_card_events(const World& world, NewEvents& events, const Now& now) {
  if (world.board.cards().empty()) return;
  std::string commit;  // pushed by the station that succeeded last
  const std::size_t size = events.size();
  for (std::size_t index = 0; index < size; ++index) {
    const NewEvent decided = events[index];
    if (decided.stream.kind != StreamKind::run) continue;
    const Card* card = world.board.find_by_run(decided.stream.run_id);
    if (card == nullptr) continue;
    const CardOfRun of_run(world, *card, decided.stream.run_id, now);
    std::optional<CardEvent> follows;
    if (const auto* succeeded = event_as<StationSucceeded>(decided.event)) {
      commit = succeeded->result.external_ref;
    } else if (event_as<StationApproved>(decided.event) != nullptr) {
      commit = world.find_run(decided.stream.run_id)->resume_ref;  // of a result that was held
    } else if (const auto* claimed = event_as<StationClaimed>(decided.event)) {
      follows = of_run.after(world.find_run(decided.stream.run_id), *claimed);
    } else if (event_as<RunSucceeded>(decided.event) != nullptr) {
      follows = of_run.after_success(world.find_run(decided.stream.run_id), commit);
    } else if (const auto* failed = event_as<RunFailed>(decided.event)) {
      follows = of_run.after(world.find_run(decided.stream.run_id), *failed);
    } else if (const auto* canceled = event_as<RunCanceled>(decided.event)) {
      follows = of_run.after(*canceled);
    }
    if (follows) {
      // The span is that of the run that works on the card, also while another run merges it.
      events.push_back({Stream::card(card->id), card->run_id, decided.cause, std::move(*follows)});
    }
  }
}

}  // namespace signalbox
