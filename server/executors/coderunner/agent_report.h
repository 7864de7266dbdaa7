// What an agent told of its work, in the terms of Signalbox: the same for every agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/station_events.h"

namespace signalbox {

struct AgentReport {
  std::string session;  // as the agent calls it; empty if it told none
  std::string model;
  std::string last_text;  // of the agent's messages, the latest
  // The terminal event: without one there is no result, whatever came before.
  bool has_result = false;
  bool is_error = false;
  std::string subtype;                    // the agent's own word for how it ended
  std::string final_text;                 // of the result
  std::string error_text;                 // what the agent says went wrong; also without a result
  Usage usage;                            // what is known so far; of the result, once there is one
  std::vector<std::string> denied_tools;  // by name, one for each denial
  std::optional<std::int64_t> quota_reset_at_ns;  // told as data, with a refusal
  bool quota_refused = false;                     // likewise
  std::uint64_t events = 0;                       // that were understood as JSON
  std::uint64_t invalid_lines = 0;                // that were not

  [[nodiscard]] bool began() const { return !session.empty() || usage.turns > 0; }
};

}  // namespace signalbox
