// A pipeline's definition as it was stored before a retry policy said whether it names max_retries:
// a station that named it, above 0, had the last of its strategies twice. Frozen: events, worlds up
// to format 8 and rows up to format 5 with this shape exist on users' disks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/pipeline.h"
#include "store/moved_fields.h"

namespace signalbox {

struct RetryPolicyV1 {
  std::uint32_t max_retries = 3;
  std::int64_t backoff_ms = 1000;
  std::vector<Strategy> strategies = {Strategy::original};
};
BOOST_DESCRIBE_STRUCT(RetryPolicyV1, (), (max_retries, backoff_ms, strategies))

struct StationDefinitionV2 {
  std::string name;
  ExecutorKind executor = ExecutorKind::worker;
  std::vector<std::string> command;
  std::int64_t timeout_ms = 0;
  std::int64_t heartbeat_timeout_ms = 0;
  std::int64_t cancel_grace_ms = 0;
  bool require_result = false;
  std::vector<std::string> environment;
  std::string remote;
  RetryPolicyV1 retry;
  std::int64_t stall_after_ms = 0;
  std::vector<StallAction> stall_actions;
  std::optional<CoderunnerDefinition> coderunner;
  std::optional<RemoteJobDefinition> modal;
  std::optional<ChecksDefinition> checks;
  std::optional<DeepWorkDefinition> deep_work;
};
BOOST_DESCRIBE_STRUCT(StationDefinitionV2, (),
                      (name, executor, command, timeout_ms, heartbeat_timeout_ms, cancel_grace_ms,
                       require_result, environment, remote, retry, stall_after_ms, stall_actions,
                       coderunner, modal, checks, deep_work))

struct PipelineDefinitionV2 {
  std::string name;
  std::vector<StationDefinitionV2> stations;
  Budget budget = {};
};
BOOST_DESCRIBE_STRUCT(PipelineDefinitionV2, (), (name, stations, budget))

inline RetryPolicy upcast(RetryPolicyV1 old) {
  RetryPolicy policy;
  policy.max_retries = old.max_retries;
  policy.backoff_ms = old.backoff_ms;
  policy.strategies = std::move(old.strategies);
  const std::size_t count = policy.strategies.size();
  if (count >= 2 && policy.strategies[count - 1] == policy.strategies[count - 2]) {
    policy.strategies.pop_back();
    policy.max_retries_named = true;
  }
  return policy;
}

inline StationDefinition upcast(StationDefinitionV2 old) {
  StationDefinition station;
  move_fields<&StationDefinitionV2::retry>(old, station);
  station.retry = upcast(std::move(old.retry));
  return station;
}

inline PipelineDefinition upcast(PipelineDefinitionV2 old) {
  PipelineDefinition pipeline;
  pipeline.name = std::move(old.name);
  for (StationDefinitionV2& station : old.stations) {
    pipeline.stations.push_back(upcast(std::move(station)));
  }
  pipeline.budget = old.budget;
  return pipeline;
}

// Returns the definition as that shape stored it. A run's first event pins its pipeline by the
// digest of the bytes that were stored then.
inline PipelineDefinitionV2 as_stored_in_v2(const PipelineDefinition& pipeline) {
  PipelineDefinitionV2 old{pipeline.name, {}, pipeline.budget};
  for (const StationDefinition& station : pipeline.stations) {
    RetryPolicyV1 retry{station.retry.max_retries, station.retry.backoff_ms,
                        station.retry.strategies};
    if (station.retry.max_retries_named && !retry.strategies.empty()) {
      const Strategy last = retry.strategies.back();
      retry.strategies.push_back(last);
    }
    old.stations.push_back({station.name, station.executor, station.command, station.timeout_ms,
                            station.heartbeat_timeout_ms, station.cancel_grace_ms,
                            station.require_result, station.environment, station.remote,
                            std::move(retry), station.stall_after_ms, station.stall_actions,
                            station.coderunner, station.modal, station.checks, station.deep_work});
  }
  return old;
}

}  // namespace signalbox
