// Cards as JSON: the read model's rows, the card's own events, what a card waits for, and the
// results of the commands.
#pragma once

#include <map>
#include <span>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/world.h"
#include "projections/run_history.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"
#include "server/rpc/method.h"

namespace signalbox {

boost::json::object card_row_to_json(const CardRow& row);

// Returns {card: {…, brief, runs, history, history_total}}, without `waiting`. CARD_NOT_FOUND or
// STORAGE_DAMAGED. Called on the projector's thread.
Decided<boost::json::object> card_view(const Api& api, const RunIndex& index, const CardId& id);

// Adds what a person has to know of a run's work before deciding about it: `checks_changed`, as the
// latest result of its create_pr or its checks has it, and `left_out`, as that of its create_pr.
// Each is there only if it has anything in it.
void add_findings(const RunHistory& run, boost::json::object& shown);

// Returns CARD_NOT_FOUND.
tl::unexpected<Rejection> card_not_found(const CardId& id);

// Return the results of the commands, built from their events.
boost::json::object submit_card_result(const Api& api, std::span<const Record> records);
boost::json::object block_card_result(const Api& api, std::span<const Record> records);
boost::json::object unblock_card_result(const Api& api, std::span<const Record> records);
boost::json::object set_priority_result(const Api& api, std::span<const Record> records);

// Returns what a card of the backlog waits for: the result of why_waiting(), with the cards that
// hold it up; or the wait for a person or for another merge. Called on the engine's thread.
//
// The result is {reason, text, scope?, limit?, holders?, holders_total?}, or null for a card that
// waits for nothing. `next` is next_to_start(), for a card of the backlog. Lists pass false for
// `whole`, which leaves out the holders.
boost::json::value card_waiting(const World& world, const Card& card, const Card* next, bool whole);

// The state of an open card that only the world has: its policy may have changed since its row was
// written.
struct PresentCard {
  boost::json::value waiting;
  boost::json::value retry_at;
};
using PresentCards = std::map<CardId, PresentCard>;

// Returns this of those of the cards that are open. Called on the engine's thread.
PresentCards present_cards(const World& world, std::span<const CardId> ids, bool whole);

// Sets `waiting` and `retry_at` of a card as card_row_to_json() gives it. A card that isn't among
// `present` waits for nothing.
void add_present_state(const PresentCards& present, boost::json::object& card);

// Returns why nothing of the project is started or merged, as a sentence; empty if it isn't held
// (policy_hold()).
std::string policy_hold_text(const Project& project);

// Returns {card_id, title, project, status, run_id} for a card that holds up another one.
boost::json::object card_holder(const Card& card);

// Handles `card.why`: why a card isn't moving, since which event, and what to do about it.
void why_card(Api& api, Call& call);

}  // namespace signalbox
