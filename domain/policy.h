// A project's policy, from its HEARTBEAT.md: the limits and switches for the work on its cards.
//
// The file is read at every tick; the policy that was last read without an error stays in force.
// server/board/policy_file.h has the format of the file.
#pragma once

#include <cstdint>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

namespace signalbox {

// What happens to a card whose work changes files that decide how it is checked. Stored as a
// number: append only.
enum class ChecksChanged : std::uint8_t {
  approve = 1,  // it waits for a person's decision
  allow = 2,    // it goes on; the change is only shown
  refuse = 3,   // it is blocked
};
BOOST_DESCRIBE_ENUM(ChecksChanged, approve, allow, refuse)

struct Policy {
  // Constraints
  std::uint32_t max_concurrent_agents = 2;              // in all projects
  std::uint32_t max_concurrent_agents_per_project = 1;  // in this project
  std::int64_t blocked_retry_minutes = 30;  // until a blocked card returns to the backlog
  std::uint32_t max_attempts = 3;           // runs of a card until it has failed
  std::int64_t agent_timeout_minutes = 30;  // of an attempt at a coding agent's station
  // Builder
  bool process_backlog = true;
  bool retry_blocked = true;
  // Synthesizer
  bool merge_verified = true;
  ChecksChanged checks_changed = ChecksChanged::approve;
  // Notifications
  bool websocket_events = true;  // broadcasts about this project's cards

  friend bool operator==(const Policy&, const Policy&) = default;
};
BOOST_DESCRIBE_STRUCT(Policy, (),
                      (max_concurrent_agents, max_concurrent_agents_per_project,
                       blocked_retry_minutes, max_attempts, agent_timeout_minutes, process_backlog,
                       retry_blocked, merge_verified, checks_changed, websocket_events))

}  // namespace signalbox
