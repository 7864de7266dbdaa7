// What a run's events mean for the card that it is the run of, or the merge.
#pragma once

#include "domain/decide.h"

namespace signalbox {

// Appends the card's own events to those that were decided about its run: they are one commit, so
// that a card never says anything else than its run.
void add_card_events(const World& world, NewEvents& events, const Now& now);

}  // namespace signalbox
