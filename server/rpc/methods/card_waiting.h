// What a card of the backlog waits for, as JSON: the answer of why_waiting() with the names of who
// stands in the way. On the engine's thread.
#pragma once

#include <boost/json/value.hpp>

#include "domain/world.h"

namespace signalbox {

// {reason, text, scope?, limit?, holders?, holders_total?}; null for a card that isn't in the
// backlog. Without `whole` there are no holders: for lists.
boost::json::value card_waiting(const World& world, const Card& card, bool whole);

// {card_id, title, project, status, run_id}: one that stands in the way.
boost::json::object card_holder(const Card& card);

}  // namespace signalbox
