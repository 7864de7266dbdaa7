#include "tests/simulation/board_audit.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/service_loops.h"

namespace signalbox::simulation {
namespace {

constexpr std::int64_t audited_minute_ns = 60 * ns_per_s;

bool says(const boost::json::object& params, const char* name, const std::string& text) {
  const boost::json::value* value = params.if_contains(name);
  return value == nullptr ? text.empty() : value->as_string() == text;
}

}  // namespace

void BoardAudit::read(const Commit& commit) {
  about_to_start_.reset();
  ended_.clear();
  failed_.clear();
  touched_.clear();
  for (const Record& record : commit) {
    if (record.stream.kind == StreamKind::project) read_project(record);
    if (record.stream.kind == StreamKind::run) read_run(record);
    if (record.stream.kind == StreamKind::card) read_card(record);
    if (record.stream.kind == StreamKind::server) read_server(record);
    if (record.stream.kind == StreamKind::tick) read_tick(record);
  }
  finish_commit(commit.back().position);
}

void BoardAudit::read_project(const Record& record) {
  if (const auto* put = event_as<ProjectPut>(record.event)) {
    const bool is_new = projects_.try_emplace(record.stream.name).second;
    projects_[record.stream.name].repository = put->repository;
    policies_changed_ = policies_changed_ || is_new;
    return;
  }
  const auto place = projects_.find(record.stream.name);
  if (place == projects_.end()) return wrong(record, "there is no such project");
  read_policy(record, place->second);
}

// H8: runs leave memory `prune_after_ns` after their end, and not before.
void BoardAudit::read_server(const Record& record) {
  if (const auto* finished = event_as<RecoveryFinished>(record.event)) {
    return read_recovery(record, *finished);
  }
  const auto* pruned = event_as<RunsPruned>(record.event);
  if (pruned == nullptr) return;
  const auto last = ended_runs_.find(pruned->through);
  if (last == ended_runs_.end() || last->second.keyed) {
    return wrong(record, "no run without a key ended at " + std::to_string(pruned->through));
  }
  if (record.recorded_at_ns - last->second.at_ns < prune_after_ns_) {
    wrong(record, "a run that ended a moment ago is pruned");
  }
}

// H9: recovery gives one verdict on each card that was being worked on or merged; its run goes on.
void BoardAudit::read_recovery(const Record& record, const RecoveryFinished& finished) {
  if (finished.items_total != finished.items.size()) return;
  std::set<std::string> told;
  for (const RecoveredItem& item : finished.items) {
    if (item.kind != RecoveredKind::card) continue;
    if (!told.insert(item.name).second) wrong(record, "two verdicts on card " + item.name);
    if (item.verdict != Verdict::poll) wrong(record, "the run of card " + item.name + " goes on");
  }
  std::set<std::string> in_flight;
  for (const auto& [id, card] : cards_) {
    if (card.in_work() || !card.merge.is_nil()) in_flight.insert(to_string(id));
  }
  if (told != in_flight) wrong(record, "its verdicts aren't those on all cards in flight");
}

void BoardAudit::read_run(const Record& record) {
  const RunId& id = record.stream.run_id;
  const auto card = card_of_run_.find(id);
  if (const auto* started = event_as<RunStarted>(record.event)) {
    open_runs_[id] = !started->idempotency_key.empty();
    if (card == card_of_run_.end()) return;
    if (std::exchange(about_to_start_, std::nullopt) != id) {
      wrong(record, "it doesn't follow what its card says");
    }
    return;
  }
  if (const auto* retried = event_as<RunRetried>(record.event)) {
    if (card != card_of_run_.end()) wrong(record, "it is a card's, whose worktree is gone");
    open_runs_[id] = !retried->idempotency_key.empty();
    return;
  }
  const bool succeeded = event_as<RunSucceeded>(record.event) != nullptr;
  const bool ends = succeeded || event_as<RunFailed>(record.event) != nullptr ||
                    event_as<RunCanceled>(record.event) != nullptr;
  if (!ends) return;
  ended_runs_[record.position] = {record.position, record.recorded_at_ns, open_runs_[id]};
  open_runs_.erase(id);
  if (card == card_of_run_.end()) return;
  ended_[id] = succeeded;
  if (const auto* failed = event_as<RunFailed>(record.event)) failed_[id] = *failed;
  touched_.insert(card->second);
}

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
    card.merge = {};
    card.deferred_at = record.position;
    card.deferred_at_ns = record.recorded_at_ns;
  } else if (const auto* merged = std::get_if<CardMerged>(&event)) {
    after_run(record, card, merged->run_id, /*merge=*/true, /*succeeded=*/true);
    card.merge = {};
    card.column = CardStatus::merged;
  }
}

std::string BoardAudit::obstacle(const AuditedCard& card) const {
  const Policy& policy = projects_.at(card.project).policy;
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
  return {};
}

// H4
void BoardAudit::start(const Record& record, AuditedCard& card, const CardStarted& started) {
  if (card.column != CardStatus::backlog) wrong(record, "it isn't in the backlog");
  if (!beating_.contains(std::string(heartbeat_loop_name))) {
    wrong(record, "outside of a tick of the heartbeat");
  }
  if (const std::string why = obstacle(card); !why.empty()) wrong(record, why);
  for (const auto& [id, other] : cards_) {
    const bool before = other.priority > card.priority ||
                        (other.priority == card.priority && other.submitted_at < card.submitted_at);
    if (before && other.column == CardStatus::backlog && obstacle(other).empty()) {
      wrong(record, "card " + to_string(id) + " comes before it");
    }
  }
  if (started.attempt != ++card.runs) wrong(record, "its runs have no gaps");
  card.column = CardStatus::running;
  card.run = started.run_id;
  if (!card_of_run_.emplace(started.run_id, record.stream.run_id).second) {
    wrong(record, "it has the run of another");
  }
  about_to_start_ = started.run_id;
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
  if (!projects_[card.project].policy.merge_verified) wrong(record, "against the policy");
  if (projects_[card.project].is_held()) wrong(record, "its policy was never understood");
  for (const auto& [id, other] : cards_) {
    if (other.project != card.project || other.column != CardStatus::verified) continue;
    if (!other.merge.is_nil()) wrong(record, "card " + to_string(id) + " is being merged");
    if (is_merged_before(other, card)) wrong(record, "card " + to_string(id) + " comes before it");
  }
  // A9: a merge that was deferred often waits as a blocked card does.
  const std::int64_t minutes = projects_[card.project].policy.blocked_retry_minutes;
  if (card.merges_slowly() &&
      record.recorded_at_ns < card.deferred_at_ns + minutes * audited_minute_ns) {
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
  const ErrorClass error_class = place->second.error_class;
  return error_class == ErrorClass::transient || error_class == ErrorClass::lost ||
         error_class == ErrorClass::quota || place->second.code == "BASE_MOVED";
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
  } else {
    const bool merge = !card.merge.is_nil();
    after_run(record, card, blocked.run_id, merge, /*succeeded=*/false);
    const bool passes = failed_for_what_passes(blocked.run_id);
    if (merge && passes) wrong(record, "its merge is to be tried again, and not its work");
    // A retry mends neither a missing configuration nor a cancellation nor a rejection, and what
    // kept finished work from being proposed is no reason to do it again.
    const auto failed = failed_.find(blocked.run_id);
    const bool by_itself = failed != failed_.end() && failed->second.code != "REJECTED" &&
                           (merge || failed->second.error_class != ErrorClass::config) &&
                           !(passes && failed->second.station == "create_pr");
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
  if (!card.merge.is_nil() && failed_for_what_passes(failed.run_id)) {
    wrong(record, "its merge is to be tried again");
  }
  if (card.runs < projects_[card.project].policy.max_attempts) {
    wrong(record, "it has had " + std::to_string(card.runs) + " runs, and may have more");
  }
  card.column = CardStatus::failed;
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
    const std::int64_t due_ns = card.blocked_at_ns + minutes * audited_minute_ns;
    if (record.recorded_at_ns < due_ns) {
      wrong(record, std::to_string((due_ns - record.recorded_at_ns) / ns_per_ms) + " ms too early");
    }
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

// H1: a card agrees with its run within the same commit.
void BoardAudit::finish_commit(Position position) {
  const auto expect = [&](const CardId& id, bool fact, const char* what) {
    environment_.expect(
        fact, "position " + std::to_string(position) + ": card " + to_string(id) + " " + what);
  };
  environment_.expect(!about_to_start_, "position " + std::to_string(position) +
                                            ": a card begins, and its run doesn't");
  for (const CardId& id : touched_) {
    const AuditedCard& card = cards_[id];
    expect(id, card.in_work() == (!card.run.is_nil() && is_open(card.run)),
           "doesn't say whether its run is under way");
    expect(id, card.merge.is_nil() || is_open(card.merge), "is being merged by a run that is over");
    for (const auto& [run_id, succeeded] : ended_) {
      if (card_of_run_[run_id] != id) continue;
      expect(id, run_id != card.run || !succeeded || card.column != CardStatus::running,
             "wasn't told of the end of its run");
    }
  }
}

void BoardAudit::finished() const {
  for (const auto& [id, card] : cards_) {
    environment_.expect(card.column == CardStatus::merged || card.column == CardStatus::failed,
                        "card " + to_string(id) + " never came to an end: it is " +
                            boost::describe::enum_to_string(card.column, "?"));
  }
  for (const auto& [id, card] : card_of_run_) {
    environment_.expect(repositories_.is_accounted_for(id),
                        "the worktree of run " + to_string(id) + " is left, and nobody says so");
  }
}

}  // namespace signalbox::simulation
