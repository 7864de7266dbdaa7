// What queries about cards answer: the read model's rows, and the card's own events.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "projections/run_index.h"
#include "server/rpc/api.h"

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

}  // namespace signalbox
