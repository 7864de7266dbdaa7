#include "domain/admission.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "domain/attempt_end.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/placement.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

constexpr std::int64_t ms_per_minute = 60 * 1000;

// In the message of a card that a person blocked: between the code and the words of the failure to
// propose its work, and before the person's reason. Messages in logs have them, so they never
// change.
constexpr std::string_view after_code = ": ";
constexpr std::string_view person_before = "; blocked by a person: ";

CardWait concurrency(std::string scope, std::int64_t limit, const std::set<CardId>& holders) {
  return {CardWaitReason::concurrency, std::move(scope), limit, {holders.begin(), holders.end()}};
}

// Returns whether a station of this kind works for long, as an agent does.
bool is_agents_station(const StationDefinition& station) {
  switch (station.executor) {
    case ExecutorKind::worker:
    case ExecutorKind::process:
    case ExecutorKind::coderunner:
    case ExecutorKind::modal:
    case ExecutorKind::deep_work:
      return true;
    case ExecutorKind::builtin:
    case ExecutorKind::checks:
    case ExecutorKind::approval:
      return false;
  }
  return true;
}

// Returns whether the run waits, and no agent is left of it: for a person's decision about a
// result, or for the time when finished work is proposed again.
bool waits_with_its_result(const Run& run) {
  if (run.attempt || run.station().status != StationStatus::waiting) return false;
  const bool is_proposing = builtin_of(run.definition()) == BuiltinStation::create_pr;
  if (!is_proposing && !waits_for_decision(run)) return false;
  if (run.definition().executor == ExecutorKind::approval) return false;
  const auto& stations = run.pipeline->stations;
  return std::none_of(stations.begin() + static_cast<std::ptrdiff_t>(run.current) + 1,
                      stations.end(), is_agents_station);
}

// Returns what keeps another card from joining those that have an agent by their status: `limit`
// cards at work, or too many that are held with their work done. Returns nullopt if nothing does.
std::optional<CardWait> why_full(const World& world, const std::string& scope,
                                 const std::set<CardId>& agents, std::uint32_t limit) {
  if (agents.size() < limit) return std::nullopt;
  const std::set<CardId> working = still_working(world, agents);
  if (working.size() >= limit) return concurrency(scope, limit, working);
  if (agents.size() < limit + std::size_t{limits::held_cards_max}) return std::nullopt;
  std::set<CardId> held;
  std::set_difference(agents.begin(), agents.end(), working.begin(), working.end(),
                      std::inserter(held, held.end()));
  return concurrency("held", limits::held_cards_max, held);
}

// Returns whether the policy and the limits of concurrency let the project start any card.
bool may_start(const World& world, const Project& project) {
  const Policy& policy = project.policy;
  if (policy_hold(project) != PolicyHold::none) return false;
  return policy.process_backlog &&
         !why_full(world, "all", world.board.agents(), policy.max_concurrent_agents) &&
         !why_full(world, "project", world.board.agents_of_project(project.name),
                   policy.max_concurrent_agents_per_project);
}

bool key_is_taken(const World& world, const std::string& key) {
  return !key.empty() && !world.board.agents_of_key(key).empty();
}

// Returns the first card of the lane that isn't one of `left_out`, or nullptr.
const CardOrder* first_of_lane(const std::set<CardOrder>& lane, const std::set<CardId>& left_out) {
  const auto first = std::find_if(lane.begin(), lane.end(), [&left_out](const CardOrder& order) {
    return !left_out.contains(order.id);
  });
  return first == lane.end() ? nullptr : &*first;
}

std::int64_t retry_wait_ns(const World& world, const Card& card) {
  return world.projects.find(card.project)->second.policy.blocked_retry_minutes * ns_per_minute;
}

// Returns whether somebody wrote the number of retries: also where it is the default one, and not
// where only a backoff was written.
bool has_own_retries(const RetryPolicy& policy) {
  return policy.max_retries_named || policy.max_retries != RetryPolicy{}.max_retries;
}

// Returns the worktree of the card's latest run if all of that run's work is done and is yet to be
// proposed, or nullptr.
const CardWorktree* worktree_of_unproposed_work(const World& world, const Card& card) {
  const bool is_stopped = card.status == CardStatus::backlog ||
                          card.status == CardStatus::blocked || card.status == CardStatus::failed;
  if (!is_stopped || !is_only_unproposed(card.code)) return nullptr;
  const auto worktree = world.worktrees.find(card.run_id);
  return worktree == world.worktrees.end() ? nullptr : &worktree->second;
}

bool is_of_project(const World& world, const CardWorktree& worktree) {
  return world.find_project(worktree.project)->repository == worktree.repository;
}

bool has_remote(const StationDefinition& station) {
  const auto builtin = builtin_of(station);
  return builtin == BuiltinStation::intake || builtin == BuiltinStation::create_pr;
}

StartRun run_for(const Project& project, const Card& card) {
  StartRun run;
  run.goal = card.brief.empty() ? card.title : card.title + "\n\n" + card.brief;
  run.project = project.name;
  run.labels.emplace("card", to_string(card.id));
  run.repository = project.repository;
  if (!project.base.empty()) run.base = project.base;
  return run;
}

}  // namespace

std::string pause_text(const ServicePause& pause) {
  const std::string text = (pause.by.empty() ? "somebody" : pause.by) + " paused the service";
  return pause.reason.empty() ? text : text + ": " + pause.reason;
}

const Card* next_to_start(const World& world, const std::set<CardId>& left_out) {
  if (!admits_work(world)) return nullptr;
  const Card* best = nullptr;
  CardOrder best_order;
  for (const auto& [first, name] : world.board.heads()) {
    // The heads are sorted: no later project has an earlier card than the one found.
    if (best != nullptr && best_order < first) break;
    if (!may_start(world, world.projects.find(name)->second)) continue;
    const ProjectBacklog& backlog = *world.board.backlog(name);
    for (const auto& [head, key] : backlog.heads) {
      // The heads of the lanes are sorted, too.
      if (best != nullptr && best_order < head) break;
      if (key_is_taken(world, key)) continue;
      const CardOrder* const order = first_of_lane(backlog.lanes.at(key), left_out);
      if (order == nullptr || (best != nullptr && best_order < *order)) continue;
      const Card* card = world.board.find(order->id);
      if (waits_for_worktree(world, *card)) continue;
      best = card;
      best_order = *order;
    }
  }
  return best;
}

bool hands_on_worktree(const Card& card) {
  if (needs_look_at_worktree(card.code)) return true;
  // Its run may have failed before it committed anything, unlike one whose push failed.
  const auto proposal = failed_proposal(card);
  return card.code == blocked_by_person_code && proposal && proposal->code == not_proposed_code;
}

bool waits_for_worktree(const World& world, const Card& card) {
  const auto worktree = world.worktrees.find(card.run_id);
  if (worktree == world.worktrees.end()) return false;
  if (hands_on_worktree(card)) return true;
  // The next run may be elsewhere: what this one has left is for it once the remote has it.
  return !worktree->second.runner.empty() && !goes_on_with_run(world, card);
}

bool waits_for_look(const World& world, const RunId& run_id) {
  const Card* card = world.board.find_by_run(run_id);
  if (card == nullptr || card->run_id != run_id) return false;
  if (card->status != CardStatus::blocked && card->status != CardStatus::failed) return false;
  // A person's block replaces the code of the failure.
  return needs_look_at_worktree(card->code) || card->code == blocked_by_person_code;
}

bool goes_on_with_run(const World& world, const Card& card) {
  const CardWorktree* const worktree = worktree_of_unproposed_work(world, card);
  return worktree != nullptr && is_of_project(world, *worktree);
}

std::string former_repository(const World& world, const Card& card) {
  const CardWorktree* const worktree = worktree_of_unproposed_work(world, card);
  if (worktree == nullptr || is_of_project(world, *worktree)) return {};
  return worktree->repository;
}

std::optional<FailedProposal> failed_proposal(const Card& card) {
  if (is_only_unproposed(card.code)) return FailedProposal{card.code, card.message};
  if (card.code != blocked_by_person_code || card.run_id.is_nil()) return std::nullopt;
  if (card.message.find(person_before) == std::string::npos) return std::nullopt;
  const std::string code = card.message.substr(0, card.message.find(after_code));
  if (!is_only_unproposed(code)) return std::nullopt;
  return FailedProposal{code, card.message.substr(code.size() + after_code.size())};
}

bool depends_on_message(const Card& card, const std::string& message) {
  Card before = card;
  before.message = message;
  return card.code == blocked_by_person_code && failed_proposal(before).has_value();
}

CardBlocked block_by_person(const Card& card, const std::string& reason) {
  CardBlocked blocked{RunId{}, std::string(blocked_by_person_code), reason, 0};
  if (card.status == CardStatus::verified) return blocked;
  const auto add_reason = [&reason](std::string of_run) {
    of_run.resize(std::min(of_run.size(), of_run.find(person_before)));
    return of_run + std::string(person_before) + reason;
  };
  if (needs_look_at_worktree(card.code)) {
    blocked.code = card.code;
    blocked.message = add_reason(card.message);
  } else if (auto proposal = failed_proposal(card)) {
    blocked.message =
        proposal->code + std::string(after_code) + add_reason(std::move(proposal->message));
  }
  return blocked;
}

std::string unblock_command(const Card& card) {
  return "signalbox card unblock " + to_string(card.id) + " --seen " +
         std::to_string(card.changed_at);
}

std::string command_for_another_run(const CardId& card_id) {
  return "signalbox card block " + to_string(card_id) + " --reason 'this work cannot be proposed'";
}

std::set<CardId> still_working(const World& world, const std::set<CardId>& cards) {
  std::set<CardId> working;
  for (const CardId& id : cards) {
    const Run* run = world.find_run(world.board.find(id)->run_id);
    if (run == nullptr || !waits_with_its_result(*run)) working.insert(id);
  }
  return working;
}

std::optional<ChecksChanged> rule_for_changed_checks(const World& world, const Run& run) {
  const Card* card = world.board.find_by_run(run.id);
  if (card == nullptr || card->run_id != run.id) return std::nullopt;
  return world.find_project(card->project)->policy.checks_changed;
}

std::string remote_of_station(const World& world, const Run& run) {
  const StationDefinition& station = run.definition();
  const Card* card = world.board.find_by_run(run.id);
  if (card == nullptr || card->run_id != run.id || !has_remote(station)) return station.remote;
  const Project& project = *world.find_project(card->project);
  // A name of another repository's remote means nothing in the run's.
  if (project.repository != run.repository) return station.remote;
  const auto& stations = project.pipeline.stations;
  const auto same = std::find_if(stations.begin(), stations.end(), [&](const auto& each) {
    return builtin_of(each) == builtin_of(station);
  });
  if (same == stations.end()) return station.remote;
  const std::string& remote = same->remote.empty() ? project.remote : same->remote;
  // The work of a runner comes from there through a remote.
  return remote.empty() && is_runner(run.machine) ? station.remote : remote;
}

CardWait why_waiting(const World& world, const Card& card) {
  return why_waiting(world, card, next_to_start(world));
}

CardWait why_waiting(const World& world, const Card& card, const Card* next) {
  const Board& board = world.board;
  const Project& project = world.projects.find(card.project)->second;
  const Policy& policy = project.policy;
  if (!admits_work(world)) return {CardWaitReason::service_paused, {}, 0, {}};
  if (!policy.process_backlog || policy_hold(project) != PolicyHold::none) {
    return {CardWaitReason::policy, {}, 0, {}};
  }
  if (auto wait = why_full(world, "project", board.agents_of_project(project.name),
                           policy.max_concurrent_agents_per_project)) {
    return *std::move(wait);
  }
  if (auto wait = why_full(world, "all", board.agents(), policy.max_concurrent_agents)) {
    return *std::move(wait);
  }
  if (key_is_taken(world, card.key)) return concurrency("key", 1, board.agents_of_key(card.key));
  if (waits_for_worktree(world, card)) return {CardWaitReason::worktree, {}, 0, {}};
  // Cards of one lane start in their order, so they wait for what its head waits for.
  const Card* head = board.find(board.backlog(card.project)->lanes.at(card.key).begin()->id);
  if (head != &card && waits_for_worktree(world, *head)) {
    return {CardWaitReason::order, {}, 0, {head->id}};
  }
  if (next == nullptr || next == &card) return {};
  return {CardWaitReason::order, {}, 0, {next->id}};
}

const Card* next_to_merge(const World& world, const std::string& project, std::int64_t now_ns) {
  if (!admits_work(world)) return nullptr;
  const auto place = world.projects.find(project);
  if (place == world.projects.end() || !place->second.policy.merge_verified) return nullptr;
  if (policy_hold(place->second) != PolicyHold::none) return nullptr;
  if (world.board.merging(project) != nullptr) return nullptr;
  const auto verified = world.board.verified().find(project);
  if (verified == world.board.verified().end()) return nullptr;
  const Card* longest = nullptr;  // of the cards that wait
  for (const auto& [position, id] : verified->second) {
    const Card* card = world.board.find(id);
    if (!card->waits_for_merge()) return card;
    if (longest == nullptr || card->changed_at < longest->changed_at) longest = card;
  }
  return is_due(merge_due_ns(world, *longest), *longest, now_ns) ? longest : nullptr;
}

bool is_due(std::int64_t due_ns, const Card& card, std::int64_t now_ns) {
  return due_ns <= now_ns ||
         card.changed_at_ns > now_ns + limits::clock_difference_ms_max * ns_per_ms;
}

std::int64_t merge_due_ns(const World& world, const Card& card) {
  if (!card.waits_for_merge()) return 0;
  return card.changed_at_ns + retry_wait_ns(world, card);
}

std::int64_t retry_due_ns(const World& world, const Card& card) {
  if (card.status != CardStatus::blocked || card.retry_at_ns == 0) return 0;
  // A blocked card that is retried hasn't changed since it was blocked.
  return card.changed_at_ns + retry_wait_ns(world, card);
}

StartRun run_of_card(const Project& project, const Card& card) {
  StartRun run = run_for(project, card);
  run.pipeline = project.pipeline;
  const std::int64_t usual_timeout_ms = StationDefinition{}.timeout_ms;
  for (StationDefinition& station : run.pipeline->stations) {
    const bool is_agent = station.executor == ExecutorKind::coderunner;
    if (is_agent && station.timeout_ms == usual_timeout_ms) {
      station.timeout_ms = project.policy.agent_timeout_minutes * ms_per_minute;
    }
    if (has_remote(station) && station.remote.empty()) station.remote = project.remote;
    // Another run would do the agent's work again, so the station that proposes it is tried again
    // for longer than others are, and in place of the card's further runs (card_run.cc).
    const bool is_proposing = builtin_of(station) == BuiltinStation::create_pr;
    if (is_proposing && !has_own_retries(station.retry)) {
      const std::uint32_t max_attempts = project.policy.max_attempts;
      const std::uint32_t further = max_attempts > card.runs ? max_attempts - card.runs - 1 : 0;
      station.retry.max_retries =
          std::min(limits::create_pr_retries_max + further, limits::retries_max);
    }
  }
  return run;
}

StartRun run_of_merge(const Project& project, const Card& card) {
  StartRun run = run_for(project, card);
  run.goal = "Merge: " + card.title;
  PipelineDefinition& pipeline = run.pipeline.emplace();
  pipeline.name = "merge";
  pipeline.stations.push_back(builtin_station(BuiltinStation::merge, project.remote));
  std::set<std::string> labels;
  for (const StationDefinition& station : project.pipeline.stations) {
    if (station.executor == ExecutorKind::checks) pipeline.stations.push_back(station);
    for (std::string& label : labels_of(station)) labels.insert(std::move(label));
  }
  pipeline.stations.push_back(builtin_station(BuiltinStation::push, project.remote));
  // The checks are of what the cards' work needs, so the merge is made at such a place.
  for (StationDefinition* station : {&pipeline.stations.front(), &pipeline.stations.back()}) {
    for (const std::string& label : labels)
      station->environment.push_back(variable_of_label(label));
  }
  return run;
}

}  // namespace signalbox
