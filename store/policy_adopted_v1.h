// PolicyAdopted as it was stored before a policy said what a change of checks needs. Frozen: logs
// with this shape exist on users' disks. Worlds up to format 7 contain its policy.
#pragma once

#include <cstdint>
#include <tuple>

#include <boost/describe/class.hpp>

#include "domain/project_events.h"
#include "store/history.h"

namespace signalbox {

struct PolicyV1 {
  std::uint32_t max_concurrent_agents = 2;
  std::uint32_t max_concurrent_agents_per_project = 1;
  std::int64_t blocked_retry_minutes = 30;
  std::uint32_t max_attempts = 3;
  std::int64_t agent_timeout_minutes = 30;
  bool process_backlog = true;
  bool retry_blocked = true;
  bool merge_verified = true;
  bool websocket_events = true;
};
BOOST_DESCRIBE_STRUCT(PolicyV1, (),
                      (max_concurrent_agents, max_concurrent_agents_per_project,
                       blocked_retry_minutes, max_attempts, agent_timeout_minutes, process_backlog,
                       retry_blocked, merge_verified, websocket_events))

struct PolicyAdoptedV1 {
  Digest digest;
  PolicyV1 policy;
};
BOOST_DESCRIBE_STRUCT(PolicyAdoptedV1, (), (digest, policy))

// The policies of that time didn't ask for a person; today's default does.
inline Policy upcast(const PolicyV1& old) {
  return {old.max_concurrent_agents, old.max_concurrent_agents_per_project,
          old.blocked_retry_minutes, old.max_attempts,
          old.agent_timeout_minutes, old.process_backlog,
          old.retry_blocked,         old.merge_verified,
          ChecksChanged::approve,    old.websocket_events};
}

inline PolicyAdopted upcast(const PolicyAdoptedV1& old) { return {old.digest, upcast(old.policy)}; }

template <>
struct History<PolicyAdopted> {
  using Frozen = std::tuple<PolicyAdoptedV1>;
};

}  // namespace signalbox
