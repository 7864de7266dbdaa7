// What queries about cards answer: the read model's rows, and the card's own events.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/world.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"
#include "server/rpc/method.h"

namespace signalbox {

boost::json::object card_row_to_json(const CardRow& row);

// {card: {…, brief, runs, history, history_total}}, without what it waits for. On the projector's
// thread.
Decided<boost::json::object> card_view(const Api& api, const RunIndex& index, const CardId& id);

// CARD_NOT_FOUND.
tl::unexpected<Rejection> card_not_found(const CardId& id);

// The results of the commands, made from their events.
boost::json::object submit_card_result(const Api& api, std::span<const Record> records);
boost::json::object block_card_result(const Api& api, std::span<const Record> records);
boost::json::object unblock_card_result(const Api& api, std::span<const Record> records);

// What a card of the backlog waits for: the answer of why_waiting() with the names of who stands in
// the way. Called on the engine's thread.
//
// {reason, text, scope?, limit?, holders?, holders_total?}; null for a card that isn't in the
// backlog. Without `whole` there are no holders: for lists.
boost::json::value card_waiting(const World& world, const Card& card, bool whole);

// {card_id, title, project, status, run_id}: one that stands in the way.
boost::json::object card_holder(const Card& card);

// `card.why`: why a card isn't moving, since which event, and what to do about it.
void why_card(Api& api, Call& call);

}  // namespace signalbox
