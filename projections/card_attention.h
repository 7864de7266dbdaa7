// The cards among what waits for a person (attention.h).
#pragma once

#include <optional>
#include <vector>

#include "domain/world.h"
#include "projections/attention_item.h"
#include "projections/attention_selection.h"

namespace signalbox {

// Returns what kind of item a blocked or failed card is; nullopt if it waits for no person.
std::optional<AttentionKind> wait_of_card(const World& world, const Card& card);

// Offers the blocked and failed cards that wait for a person.
void add_cards(const World& world, AttentionSelection& selection);

// Adds the verified cards whose merge was deferred often: they may wait for something that only a
// person mends.
void add_deferred_merges(const World& world, std::vector<AttentionItem>& items);

}  // namespace signalbox
