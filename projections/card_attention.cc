#include "projections/card_attention.h"

#include <string>
#include <utility>

#include "domain/admission.h"
#include "domain/text_parts.h"

namespace signalbox {
namespace {

// A blocked card that the service retries by itself waits for no person.
bool is_retried(const World& world, const Card& card) {
  if (card.status != CardStatus::blocked || card.retry_at_ns == 0) return false;
  const Project* project = world.find_project(card.project);
  return project != nullptr && project->policy.retry_blocked &&
         policy_hold(*project) == PolicyHold::none;
}

}  // namespace

std::optional<AttentionKind> wait_of_card(const World& world, const Card& card) {
  if (is_retried(world, card)) return std::nullopt;
  return card.status == CardStatus::blocked ? AttentionKind::blocked_card
                                            : AttentionKind::failed_card;
}

void add_cards(const World& world, AttentionSelection& selection) {
  for (const auto& [position, id] : world.board.stopped()) {
    const Card& card = *world.board.find(id);
    const auto kind = wait_of_card(world, card);
    if (!kind || !selection.wants(*kind, position)) continue;
    const bool is_blocked = card.status == CardStatus::blocked;
    AttentionItem item;
    item.kind = *kind;
    item.since_position = position;
    item.since_ns = card.changed_at_ns;
    item.card_id = id;
    item.run_id = card.run_id;
    item.project = card.project;
    item.subject = card.title;
    item.text = with_colon(std::string("the card ") + (is_blocked ? "is blocked" : "has failed"),
                           with_colon(card.code, card.message));
    item.next_commands = {"signalbox card why " + to_string(id), unblock_command(card)};
    if (goes_on_with_run(world, card)) item.next_commands.push_back(command_for_another_run(id));
    selection.add(std::move(item));
  }
}

// It goes on waiting while it is merged once more: nothing is settled before that has succeeded.
void add_deferred_merges(const World& world, std::vector<AttentionItem>& items) {
  for (const auto& [project, cards] : world.board.verified()) {
    for (const auto& [position, id] : cards) {
      const Card& card = *world.board.find(id);
      if (!card.was_deferred_often()) continue;
      AttentionItem item;
      item.kind = AttentionKind::blocked_card;
      item.since_position = card.changed_at;
      item.since_ns = card.changed_at_ns;
      item.is_later = true;  // each deferral moves it on
      item.card_id = id;
      item.run_id = card.run_id;
      item.project = project;
      item.subject = card.title;
      item.text = with_colon(
          "the card's merge was deferred " + std::to_string(card.deferred_merges()) + " times",
          with_colon(card.code, card.message));
      item.next_commands = {"signalbox card why " + to_string(id)};
      item.next_commands.push_back(card.is_merging()
                                       ? "signalbox run why " + to_string(card.merge_run_id)
                                       : unblock_command(card));
      items.push_back(std::move(item));
    }
  }
}

}  // namespace signalbox
