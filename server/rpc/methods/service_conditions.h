// The one list of what in the service itself needs a person.
#pragma once

#include <map>
#include <vector>

#include "projections/attention_item.h"
#include "server/rpc/api.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/service_condition.h"

namespace signalbox {

// Returns the conditions of the service as items for the inbox. Those that the log has, such as a
// pause, aren't among them. Called on the engine's thread.
std::vector<AttentionItem> service_conditions(const Api& api, const ServiceSources& sources);

// Returns how many conditions of each kind there are.
std::map<ServiceCondition, double> count_conditions(const Api& api, const ServiceSources& sources);

}  // namespace signalbox
