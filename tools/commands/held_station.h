// The claim that a worker's command is about: run, station and token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/command_line.h"

namespace signalbox {

struct HeldStation {
  std::string run_id;
  std::string station;
  std::uint64_t token = 0;
  std::optional<std::string> command_id;
};

// --run, --station, --token (in a job's environment they are known already) and --command-id.
void add_held_station(ToolCommand command, HeldStation& held);

boost::json::object held_station_params(const HeldStation& held);

}  // namespace signalbox
