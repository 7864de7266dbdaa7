// The claim of a station that a worker's command belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"
#include "tools/cli/terminal.h"

namespace signalbox {

struct HeldStation {
  std::string run_id;
  std::string station;
  std::uint64_t token = 0;
  std::optional<std::string> command_id;
};

// Adds --run, --station, --token (by default from a job's environment) and --command-id.
void add_held_station(ToolCommand command, HeldStation& held);

// Returns the params that name the claim.
boost::json::object held_station_params(const HeldStation& held);

// Formats result["claim"], which is null if no station was ready.
std::string view_claim(const boost::json::object& result, const Terminal& terminal);

// Formats the statuses after the end of an attempt, and result["claim"] if there is one.
std::string view_completed(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
