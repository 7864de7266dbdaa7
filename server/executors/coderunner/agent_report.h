// The agent-independent report of an agent's work, filled from its output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/station_events.h"

namespace signalbox {

struct AgentReport {
  std::string session;  // the agent's session id; empty if it reported none
  std::string model;
  std::string last_text;  // text of the agent's latest message
  // True once the final event was read; without it there is no result, whatever came before.
  bool has_result = false;
  bool is_error = false;
  std::string subtype;                    // the agent's own name for the kind of end
  std::string final_text;                 // text of the result
  std::string error_text;                 // the agent's error message; also set without a result
  Usage usage;                            // usage so far; that of the result once there is one
  std::vector<std::string> denied_tools;  // tool names, one per denial
  std::optional<std::int64_t> quota_reset_at_ns;  // end of the usage limit, if reported as data
  bool quota_refused = false;                     // a usage limit was reported as data
  std::uint64_t events = 0;                       // JSON events read
  std::uint64_t invalid_lines = 0;                // lines that aren't JSON

  // Returns whether the agent began to work.
  [[nodiscard]] bool began() const { return !session.empty() || usage.turns > 0; }
};

}  // namespace signalbox
