// How the events of projects and cards change the world.
#include <type_traits>

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {
namespace {

void evolve(World&, Project& project, const ProjectPut& event) {
  project.repository = event.repository;
  project.base = event.base;
  project.remote = event.remote;
  project.pipeline = event.pipeline;
}
void evolve(World&, Project& project, const PolicyAdopted& event) {
  project.policy = event.policy;
  project.policy_digest = event.digest;
  project.refused_digest = {};
  if (!event.digest.is_zero()) project.policy_file_seen = true;
}
void evolve(World&, Project& project, const PolicyRefused& event) {
  project.refused_digest = event.digest;
  // A failed read doesn't show that there is a file.
  if (event.line == 0 || project.policy_file_seen) return;
  project.policy_file_seen = true;
  project.policy = policy_without_file(project.policy);
}
// Both events may also concern a worktree that world.worktrees doesn't hold.
void evolve(World& world, Project&, const WorktreeRemoved& event) {
  world.worktrees.erase(event.run_id);
}
void evolve(World& world, Project&, const WorktreeLeft& event) {
  world.worktrees.erase(event.run_id);
}

void add_worktree(World& world, const Card& card, const RunId& run_id) {
  CardWorktree& worktree = world.worktrees[run_id];  // a card may go on with its run, where that is
  worktree.run_id = run_id;
  worktree.project = card.project;
  worktree.repository = world.find_project(card.project)->repository;
}

void evolve(World& world, Card& card, const Record&, const CardStarted& event) {
  ++card.runs;
  SIGNALBOX_CHECK(card.runs == event.attempt);
  card.run_id = event.run_id;
  card.code.clear();
  card.message.clear();
  add_worktree(world, card, event.run_id);
}
void evolve(World&, Card&, const Record&, const CardVerificationStarted&) {}
void evolve(World&, Card& card, const Record& record, const CardVerified& event) {
  card.token = event.token;
  card.commit = event.commit;
  card.verified_at = record.position;
  card.merges = 0;
}
void evolve(World&, Card& card, const Record&, const CardBlocked& event) {
  card.merge_run_id = {};
  card.verified_at = 0;
  card.code = event.code;
  card.message = event.message;
  card.retry_at_ns = event.retry_at_ns;
}
void evolve(World&, Card& card, const Record&, const CardFailed& event) {
  card.merge_run_id = {};
  card.verified_at = 0;
  card.code = event.code;
  card.message = event.message;
}
void evolve(World&, Card& card, const Record&, const CardUnblocked& event) {
  if (card.status == CardStatus::verified) {
    card.merges = 0;
    return;
  }
  card.retry_at_ns = 0;
  card.commit.clear();
  if (!event.by_itself) card.runs = 0;
}
void evolve(World& world, Card& card, const Record&, const CardMergeStarted& event) {
  ++card.merges;
  card.merge_run_id = event.run_id;
  card.code.clear();
  card.message.clear();
  add_worktree(world, card, event.run_id);
}
void evolve(World&, Card& card, const Record&, const CardMergeDeferred& event) {
  card.merge_run_id = {};
  card.code = event.code;
  card.message = event.message;
}
void evolve(World&, Card& card, const Record&, const CardMerged&) { card.merge_run_id = {}; }
void evolve(World&, Card& card, const Record&, const CardPrioritySet& event) {
  card.priority = event.priority;
}

void submit(World& world, const Record& record, const CardSubmitted& event) {
  SIGNALBOX_CHECK(world.find_project(event.project) != nullptr);
  Card card;
  card.id = record.stream.run_id;
  card.project = event.project;
  card.title = event.title;
  card.brief = event.brief;
  card.key = event.key;
  card.priority = event.priority;
  card.submitted_at = record.position;
  card.changed_at = record.position;
  card.changed_at_ns = record.recorded_at_ns;
  world.board.insert(std::move(card));
}

}  // namespace

void evolve_noun(World& world, const Record& record, const ProjectEvent& noun) {
  const std::string& name = record.stream.name;
  if (std::holds_alternative<ProjectPut>(noun))
    world.projects.try_emplace(name).first->second.name = name;
  const auto place = world.projects.find(name);
  SIGNALBOX_CHECK(place != world.projects.end());
  Project& project = place->second;
  project.changed_at = record.position;
  std::visit([&](const auto& event) { evolve(world, project, event); }, noun);
}

// Moves the card's status according to the table, then applies the event. A merged card leaves the
// board.
void evolve_noun(World& world, const Record& record, const CardEvent& noun) {
  if (const auto* submitted = std::get_if<CardSubmitted>(&noun)) {
    return submit(world, record, *submitted);
  }
  Card& card = world.board.extract(record.stream.run_id);
  const std::uint16_t number = std::visit([](const auto& event) { return event.tag.number; }, noun);
  const auto next = next_status(card.status, number);
  SIGNALBOX_CHECK(next.has_value());
  card.status = *next;
  if (!std::holds_alternative<CardPrioritySet>(noun)) {
    card.changed_at = record.position;
    card.changed_at_ns = record.recorded_at_ns;
  }
  std::visit(
      [&](const auto& event) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(event)>, CardSubmitted>) {
          evolve(world, card, record, event);
        }
      },
      noun);
  if (card.status == CardStatus::merged) {
    world.board.erase(card.id);
  } else {
    world.board.put_back(card);
  }
}

}  // namespace signalbox
