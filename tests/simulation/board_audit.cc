#include "tests/simulation/board_audit.h"

#include <algorithm>
#include <utility>

#include <boost/describe/enum_to_string.hpp>

#include "domain/nanoseconds.h"

namespace signalbox::simulation {
namespace {

// A project's cards are merged one a minute, and merges are deferred.
constexpr std::int64_t card_rest_ns_max = 3 * 60 * ns_per_s;

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
  if (const auto* removed = event_as<WorktreeRemoved>(record.event)) {
    worktrees_.erase(removed->run_id);
  } else if (const auto* left = event_as<WorktreeLeft>(record.event)) {
    worktrees_.erase(left->run_id);
  }
  read_policy(record, place->second);
}

// H8: runs leave memory `prune_after_ns` after their end, and not before.
void BoardAudit::read_server(const Record& record) {
  if (const auto* finished = event_as<RecoveryFinished>(record.event)) {
    return read_recovery(record, *finished);
  }
  if (event_as<ServicePaused>(record.event) != nullptr) service_paused_ = true;
  if (event_as<ServiceResumed>(record.event) != nullptr) service_paused_ = false;
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
  std::set<std::string> named;
  for (const RecoveredItem& item : finished.items) {
    if (item.kind != RecoveredKind::card) continue;
    if (!named.insert(item.name).second) wrong(record, "two verdicts on card " + item.name);
    if (item.verdict != Verdict::poll) wrong(record, "the run of card " + item.name + " goes on");
  }
  std::set<std::string> in_flight;
  for (const auto& [id, card] : cards_) {
    if (card.in_work() || !card.merge.is_nil()) in_flight.insert(to_string(id));
  }
  if (named != in_flight) wrong(record, "its verdicts aren't those on all cards in flight");
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
    if (card == card_of_run_.end()) {
      if (record.command_id.empty()) wrong(record, "nobody has said so");
    } else if (std::exchange(about_to_start_, std::nullopt) != id) {
      wrong(record, "it is a card's, which doesn't go on with it");
    }
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

std::int64_t BoardAudit::rest_ns_max() const {
  return card_rest_ns_max *
         std::ranges::count_if(cards_, [](const auto& each) { return !each.second.has_ended(); });
}

void BoardAudit::finished() const {
  for (const auto& [id, card] : cards_) {
    environment_.expect(card.has_ended(), "card " + to_string(id) +
                                              " never came to an end: it is " +
                                              boost::describe::enum_to_string(card.column, "?"));
  }
  for (const auto& [id, card_id] : card_of_run_) {
    // A1, A9: a person looks into it before it goes, or its card goes on in it.
    const AuditedCard& card = cards_.at(card_id);
    const bool is_kept = card.needs_look || card.has_only_to_propose;
    if (card.column == CardStatus::failed && is_kept && card.run == id) continue;
    environment_.expect(repositories_.is_accounted_for(id),
                        "the worktree of run " + to_string(id) + " is left, and nobody says so");
  }
}

}  // namespace signalbox::simulation
