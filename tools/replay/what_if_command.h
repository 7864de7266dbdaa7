// `signalbox replay --what-if`: the recorded work under another policy, beside what happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

struct WhatIfOptions {
  std::string policy;  // a TOML file; empty: this isn't asked for
  std::string from;    // a moment; empty: the beginning
  std::optional<Position> to;
  std::uint64_t seed = 1;
};

// {recorded, simulated, what_if: FlowMeasures, …}, where `simulated` is the recorded policy played
// as the other one is: how far it is from `recorded` shows how good the simulation is.
Called<boost::json::object> run_what_if(const Invocation& invocation, const WhatIfOptions& options);

std::string view_what_if(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
