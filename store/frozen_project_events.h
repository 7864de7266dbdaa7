// The events of a project as they were stored in earlier versions. Frozen: logs with these shapes
// exist on users' disks.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <boost/describe/class.hpp>

#include "domain/project_events.h"
#include "store/history.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {

// PolicyAdopted as it was stored before a policy said what a change of checks needs. Worlds up to
// format 7 contain its policy.
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

// ProjectPut as it was stored before its pipeline said whether a station names max_retries.
struct ProjectPutV1 {
  std::string repository;
  std::string base;
  std::string remote;
  PipelineDefinitionV2 pipeline;
};
BOOST_DESCRIBE_STRUCT(ProjectPutV1, (), (repository, base, remote, pipeline))

inline ProjectPut upcast(ProjectPutV1 old) {
  return {std::move(old.repository), std::move(old.base), std::move(old.remote),
          upcast(std::move(old.pipeline))};
}

template <>
struct History<ProjectPut> {
  using Frozen = std::tuple<ProjectPutV1>;
};

}  // namespace signalbox
