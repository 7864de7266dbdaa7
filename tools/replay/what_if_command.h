// `signalbox replay --what-if`: simulates the recorded work under another policy, and compares the
// result with what happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

struct WhatIfOptions {
  std::string policy;          // path of a TOML file; empty: no simulation
  std::string from;            // a moment; empty: the beginning
  std::optional<Position> to;  // none: the tail
  std::uint64_t seed = 1;      // for attempts that are drawn at random
  // The settings that were in force, as `serve` was given them; none: those of the data directory's
  // file.
  std::optional<std::string> config;  // path of a TOML file
  std::optional<std::uint32_t> jobs_max;
  std::optional<std::uint32_t> remote_jobs_max;
  std::vector<std::string> board;  // KEY=VALUE, over those of the file
};

// Returns {recorded, simulated, what_if: FlowMeasures, …}. `simulated` is a simulation of the
// recorded policy: its distance from `recorded` shows how accurate the simulation is.
Called<boost::json::object> run_what_if(const Invocation& invocation, const WhatIfOptions& options);

std::string view_what_if(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
