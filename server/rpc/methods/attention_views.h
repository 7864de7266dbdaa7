// What waits for a person as JSON, for the answers that show it.
#pragma once

#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "projections/attention.h"
#include "projections/run_index.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"

namespace signalbox {

// Returns the bounds of what waits now. Called on the engine's thread, as are their functions.
AttentionBounds attention_bounds(const Api& api);

// Returns the conditions of the service itself that wait for a person, as items. Called on the
// engine's thread.
boost::json::array service_conditions(const Api& api, const std::vector<StatusPart>& status_parts);

// Returns whether a failed run is one of a card, which waits in its stead. Any thread.
bool is_failed_run_of_card(const RunIndex& index, const AttentionItem& item);

// Adds what the row and the record of an item say. What can't be read isn't shown: the rest is. Any
// thread.
void add_attention_details(const Api& api, const RunIndex& index, AttentionItem& item);

// Returns an item as `attention.list` shows it.
boost::json::object attention_item_to_json(const AttentionItem& item);

}  // namespace signalbox
