// The part of the audit of the board that follows single cards: when each may start, be merged,
// blocked and unblocked.
#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/service_loops.h"
#include "tests/simulation/board_audit.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t audited_minute_ns = 60 * ns_per_s;

// Returns how much too early a record is for what waits for some minutes since another moment.
// Nothing is known of a wait that began in the future, by a clock that was ahead.
std::int64_t too_early_ns(const Record& record, std::int64_t since_ns, std::int64_t minutes) {
  if (since_ns > record.recorded_at_ns + 5 * ns_per_s) return 0;
  return since_ns + minutes * audited_minute_ns - record.recorded_at_ns;
}

bool says(const boost::json::object& params, const char* name, const std::string& text) {
  const boost::json::value* value = params.if_contains(name);
  return value == nullptr ? text.empty() : value->as_string() == text;
}

bool is_passing_failure(const RunFailed& failed) {
  return failed.error_class == ErrorClass::transient || failed.error_class == ErrorClass::lost ||
         failed.error_class == ErrorClass::quota;
}

bool is_of_worktree(const std::string& code) {
  return code == "NESTED_REPOSITORY" || code == "FILE_TOO_LARGE";
}

bool is_failed_proposal(const RunFailed& failed) {
  return failed.station == "create_pr" &&
         (failed.code == "PUSH_FAILED" || is_passing_failure(failed) ||
          is_of_worktree(failed.code));
}

}  // namespace

void BoardAudit::read_card(const Record& record) {
  if (const auto* submitted = event_as<CardSubmitted>(record.event)) {
    return submit(record, *submitted);
  }
  const auto place = cards_.find(record.stream.run_id);
  if (place == cards_.end()) return wrong(record, "there is no such card");
  if (place->second.column == CardStatus::merged) wrong(record, "it is merged");
  touched_.insert(place->first);
  read_card(record, place->second, std::get<CardEvent>(record.event));
}

void BoardAudit::submit(const Record& record, const CardSubmitted& submitted) {
  if (!projects_.contains(submitted.project)) wrong(record, "there is no such project");
  const SentCommand* sent = book_.find(record.command_id);
  if (sent == nullptr || sent->method != "card.submit" ||
      !says(sent->params, "project", submitted.project) ||
      !says(sent->params, "title", submitted.title) || !says(sent->params, "key", submitted.key)) {
    return wrong(record, "nobody has submitted that");
  }
  AuditedCard card;
  card.project = submitted.project;
  card.key = submitted.key;
  const boost::json::value* priority = sent->params.if_contains("priority");
  card.priority = priority == nullptr ? 0 : priority->to_number<std::int32_t>();
  card.submitted_at = record.position;
  if (!cards_.emplace(record.stream.run_id, std::move(card)).second) {
    wrong(record, "for the second time");
  }
}

void BoardAudit::read_card(const Record& record, AuditedCard& card, const CardEvent& event) {
  if (const auto* started = std::get_if<CardStarted>(&event)) {
    start(record, card, *started);
  } else if (const auto* verification = std::get_if<CardVerificationStarted>(&event)) {
    if (card.column != CardStatus::running || card.run != verification->run_id) {
      wrong(record, "no such run of it is under way");
    }
    card.column = CardStatus::verifying;
  } else if (const auto* verified = std::get_if<CardVerified>(&event)) {
    after_run(record, card, verified->run_id, /*merge=*/false, /*succeeded=*/true);
    card.column = CardStatus::verified;
    card.verified_at = record.position;
    card.merges = 0;
  } else if (const auto* blocked = std::get_if<CardBlocked>(&event)) {
    block(record, card, *blocked);
  } else if (const auto* failed = std::get_if<CardFailed>(&event)) {
    fail(record, card, *failed);
  } else if (const auto* unblocked = std::get_if<CardUnblocked>(&event)) {
    unblock(record, card, *unblocked);
  } else if (const auto* merge = std::get_if<CardMergeStarted>(&event)) {
    start_merge(record, card, *merge);
  } else if (const auto* deferred = std::get_if<CardMergeDeferred>(&event)) {
    after_run(record, card, deferred->run_id, /*merge=*/true, /*succeeded=*/false);
    if (!is_merged_again(card, deferred->run_id)) wrong(record, "its work has to be done again");
    card.merge = {};
    card.deferred_at = record.position;
    card.deferred_at_ns = record.recorded_at_ns;
  } else if (const auto* priority = std::get_if<CardPrioritySet>(&event)) {
    const SentCommand* sent = book_.find(record.command_id);
    if (sent == nullptr || sent->method != "card.set_priority") wrong(record, "nobody has said so");
    if (card.priority == priority->priority) wrong(record, "it had this priority before");
    card.priority = priority->priority;
  } else if (const auto* merged = std::get_if<CardMerged>(&event)) {
    after_run(record, card, merged->run_id, /*merge=*/true, /*succeeded=*/true);
    card.merge = {};
    card.column = CardStatus::merged;
  }
}

std::string BoardAudit::obstacle(const AuditedCard& card) const {
  const Policy& policy = projects_.at(card.project).policy;
  if (service_paused_) return "the service is paused";
  if (!policy.process_backlog) return "its project's policy starts nothing";
  if (projects_.at(card.project).is_held()) return "its project's policy was never understood";
  std::size_t all = 0;
  std::size_t of_project = 0;
  std::size_t held = 0;
  std::size_t held_of_project = 0;
  for (const auto& [id, other] : cards_) {
    if (!other.in_work()) continue;
    if (!card.key.empty() && other.key == card.key) return "its key is taken";
    if (is_decided_only_(other.run)) {
      ++held;
      held_of_project += other.project == card.project ? 1 : 0;
      continue;
    }
    ++all;
    of_project += other.project == card.project ? 1 : 0;
  }
  if (all >= policy.max_concurrent_agents) return std::to_string(all) + " agents are at work";
  if (of_project >= policy.max_concurrent_agents_per_project) {
    return std::to_string(of_project) + " agents of its project are at work";
  }
  if (all + held >= std::size_t{policy.max_concurrent_agents} + limits::held_cards_max ||
      of_project + held_of_project >=
          std::size_t{policy.max_concurrent_agents_per_project} + limits::held_cards_max) {
    return "too many cards are held";
  }
  if (waits_for_worktree(card)) return "a worktree in its lane wasn't removed yet";
  return {};
}

bool BoardAudit::is_worked_on_before(const AuditedCard& other, const AuditedCard& card) {
  return other.priority > card.priority ||
         (other.priority == card.priority && other.submitted_at < card.submitted_at);
}

bool BoardAudit::waits_for_worktree(const AuditedCard& card) const {
  return std::any_of(cards_.begin(), cards_.end(), [&](const auto& entry) {
    const AuditedCard& other = entry.second;
    return other.column == CardStatus::backlog && other.needs_look &&
           worktrees_.contains(other.run) && other.project == card.project &&
           other.key == card.key && !is_worked_on_before(card, other);
  });
}

// H4
void BoardAudit::start(const Record& record, AuditedCard& card, const CardStarted& started) {
  if (card.column != CardStatus::backlog) wrong(record, "it isn't in the backlog");
  if (!beating_.contains(std::string(heartbeat_loop_name))) {
    wrong(record, "outside of a tick of the heartbeat");
  }
  if (const std::string why = obstacle(card); !why.empty()) wrong(record, why);
  for (const auto& [id, other] : cards_) {
    // One that goes on with its run is left out while that can't be read.
    if (is_worked_on_before(other, card) && other.column == CardStatus::backlog &&
        !other.has_only_to_propose && obstacle(other).empty()) {
      wrong(record, "card " + to_string(id) + " comes before it");
    }
  }
  if (started.attempt != ++card.runs) wrong(record, "its runs have no gaps");
  start_run(record, card, started.run_id);
  card.column = CardStatus::running;
  card.run = started.run_id;
  card.needs_look = false;
  card.has_only_to_propose = false;
  worktrees_.insert(started.run_id);
  about_to_start_ = started.run_id;
}

// A9: the card goes on with a run that only failed to propose its work, in its worktree, and
// otherwise has another.
void BoardAudit::start_run(const Record& record, AuditedCard& card, const RunId& run_id) {
  const bool goes_on = card.has_only_to_propose && worktrees_.contains(card.run);
  if (run_id == card.run) {
    if (!goes_on) wrong(record, "that run of it is over");
    return;
  }
  if (goes_on) wrong(record, "its work is done again, and only its proposal had failed");
  if (!card_of_run_.emplace(run_id, record.stream.run_id).second) {
    wrong(record, "it has the run of another");
  }
}

// H11
void BoardAudit::start_merge(const Record& record, AuditedCard& card,
                             const CardMergeStarted& started) {
  if (card.column != CardStatus::verified || !card.merge.is_nil()) {
    wrong(record, "it isn't to be merged");
  }
  if (!beating_.contains(std::string(synthesizer_loop_name))) {
    wrong(record, "outside of a tick of the synthesizer");
  }
  if (service_paused_) wrong(record, "the service is paused");
  if (!projects_[card.project].policy.merge_verified) wrong(record, "against the policy");
  if (projects_[card.project].is_held()) wrong(record, "its policy was never understood");
  for (const auto& [id, other] : cards_) {
    if (other.project != card.project || other.column != CardStatus::verified) continue;
    if (!other.merge.is_nil()) wrong(record, "card " + to_string(id) + " is being merged");
    if (is_merged_before(other, card)) wrong(record, "card " + to_string(id) + " comes before it");
  }
  // A9: a merge that was deferred often waits as a blocked card does.
  const std::int64_t minutes = projects_[card.project].policy.blocked_retry_minutes;
  if (card.merges_slowly() && too_early_ns(record, card.deferred_at_ns, minutes) > 0) {
    wrong(record, "the merge before it was a moment ago");
  }
  ++card.merges;
  card.merge = started.run_id;
  if (!card_of_run_.emplace(started.run_id, record.stream.run_id).second) {
    wrong(record, "it has the run of another");
  }
  about_to_start_ = started.run_id;
}

bool BoardAudit::is_merged_before(const AuditedCard& other, const AuditedCard& card) {
  if (other.merges_slowly() != card.merges_slowly()) return card.merges_slowly();
  return card.merges_slowly() ? other.deferred_at < card.deferred_at
                              : other.verified_at < card.verified_at;
}

bool BoardAudit::failed_for_what_passes(const RunId& run_id) const {
  const auto place = failed_.find(run_id);
  if (place == failed_.end()) return false;
  return is_passing_failure(place->second);
}

// A9: a merge has two stations of its own, and those of the checks between them.
bool BoardAudit::failed_in_checks_for_long(const AuditedCard& card, const RunId& run_id) const {
  if (!failed_for_what_passes(run_id) || card.merges < limits::card_checked_merges_max)
    return false;
  const std::string& station = failed_.find(run_id)->second.station;
  return station != "merge" && station != "push";
}

// A9: only what the simulated machine fails with is here, and of that no other code.
bool BoardAudit::is_merged_again(const AuditedCard& card, const RunId& run_id) const {
  if (failed_for_what_passes(run_id)) return !failed_in_checks_for_long(card, run_id);
  const auto place = failed_.find(run_id);
  if (place == failed_.end()) return false;
  const std::string code = place->second.code;
  return code == "BASE_MOVED" || code == "BASE_CHECKED_OUT" || code == "BASE_NOT_FOUND";
}

void BoardAudit::after_run(const Record& record, const AuditedCard& card, const RunId& run_id,
                           bool merge, bool succeeded) {
  if (merge ? run_id != card.merge : run_id != card.run || !card.in_work()) {
    return wrong(record, "no such run of it was under way");
  }
  const auto ended = ended_.find(run_id);
  if (ended == ended_.end()) return wrong(record, "the run goes on");
  if (ended->second != succeeded) wrong(record, "the run ended otherwise");
}

void BoardAudit::block(const Record& record, AuditedCard& card, const CardBlocked& blocked) {
  if (blocked.run_id.is_nil()) {
    const SentCommand* sent = book_.find(record.command_id);
    if (sent == nullptr || sent->method != "card.block") wrong(record, "nobody has said so");
    if (card.in_work() || !card.merge.is_nil()) wrong(record, "its run goes on");
    if (blocked.retry_at_ns != 0) wrong(record, "somebody has to unblock it");
    // A9: its next run is given what the worktree holds, which a push that failed has in a commit.
    const bool is_given_up = card.has_only_to_propose && failed_[card.run].code != "PUSH_FAILED";
    card.needs_look = card.needs_look || is_given_up;
    card.has_only_to_propose = false;
  } else {
    const bool merge = !card.merge.is_nil();
    after_run(record, card, blocked.run_id, merge, /*succeeded=*/false);
    const bool passes = failed_for_what_passes(blocked.run_id);
    if (merge && is_merged_again(card, blocked.run_id)) {
      wrong(record, "its merge is to be tried again, and not its work");
    }
    // A retry mends neither a missing configuration nor a cancellation nor a rejection, and what
    // kept finished work from being proposed is no reason to do it again.
    const auto failed = failed_.find(blocked.run_id);
    card.needs_look = is_of_worktree(blocked.code);
    card.has_only_to_propose =
        !merge && failed != failed_.end() && is_failed_proposal(failed->second);
    const bool by_itself = failed != failed_.end() && failed->second.code != "REJECTED" &&
                           !is_of_worktree(failed->second.code) &&
                           (merge || failed->second.error_class != ErrorClass::config) &&
                           !(passes && failed->second.station == "create_pr") &&
                           !(merge && failed_in_checks_for_long(card, blocked.run_id));
    if (by_itself && blocked.retry_at_ns == 0) wrong(record, "it would never be retried");
    if (!by_itself && blocked.retry_at_ns != 0) wrong(record, "somebody has to unblock it");
    if (by_itself && card.runs >= projects_[card.project].policy.max_attempts) {
      wrong(record, "the policy allows it no other run");
    }
  }
  const std::int64_t minutes = projects_[card.project].policy.blocked_retry_minutes;
  if (blocked.retry_at_ns != 0 &&
      blocked.retry_at_ns != record.recorded_at_ns + minutes * audited_minute_ns) {
    wrong(record, "the policy says something else about the next try");
  }
  card.column = CardStatus::blocked;
  card.merge = {};
  card.retry_at_ns = blocked.retry_at_ns;
  card.blocked_at_ns = record.recorded_at_ns;
}

void BoardAudit::fail(const Record& record, AuditedCard& card, const CardFailed& failed) {
  after_run(record, card, failed.run_id, !card.merge.is_nil(), /*succeeded=*/false);
  if (failed_[failed.run_id].code == "REJECTED") wrong(record, "somebody has to unblock it");
  if (!card.merge.is_nil() && is_merged_again(card, failed.run_id)) {
    wrong(record, "its merge is to be tried again");
  }
  if (card.runs < projects_[card.project].policy.max_attempts) {
    wrong(record, "it has had " + std::to_string(card.runs) + " runs, and may have more");
  }
  card.column = CardStatus::failed;
  card.needs_look = is_of_worktree(failed.code);
  card.has_only_to_propose = card.merge.is_nil() && is_failed_proposal(failed_[failed.run_id]);
  card.merge = {};
}

// H5
void BoardAudit::unblock(const Record& record, AuditedCard& card, const CardUnblocked& unblocked) {
  const bool merges_on = card.column == CardStatus::verified;
  const bool is_stopped = card.column == CardStatus::blocked || card.column == CardStatus::failed;
  if (!is_stopped && !(merges_on && card.merges_slowly() && card.merge.is_nil())) {
    wrong(record, "it isn't blocked");
  }
  if (unblocked.by_itself) {
    if (!projects_[card.project].policy.retry_blocked) wrong(record, "against the policy");
    if (card.retry_at_ns == 0) wrong(record, "somebody has to unblock it");
    // A8: the policy counts that is in force now.
    const std::int64_t minutes = projects_[card.project].policy.blocked_retry_minutes;
    const std::int64_t early_ns = too_early_ns(record, card.blocked_at_ns, minutes);
    if (early_ns > 0) wrong(record, std::to_string(early_ns / ns_per_ms) + " ms too early");
  } else {
    const SentCommand* sent = book_.find(record.command_id);
    if (sent == nullptr || sent->method != "card.unblock") wrong(record, "nobody has said so");
    if (!merges_on) card.runs = 0;
  }
  if (merges_on) {
    card.merges = 0;
    return;
  }
  card.column = CardStatus::backlog;
  card.retry_at_ns = 0;
}

}  // namespace signalbox::simulation
