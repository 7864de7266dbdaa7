// Notifications with a name of their own that subscribers get beside the event that they tell of:
// for those who follow what loops do and don't want to know the log's types.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/event.h"

namespace signalbox {

struct Broadcast {
  std::string_view name;
  boost::json::object params;
};

// nullopt for an event that none tells of.
std::optional<Broadcast> broadcast_of(const Record& record);

// All names there are.
const std::vector<std::string>& broadcast_names();

}  // namespace signalbox
