// RunStarted as it was stored before a station had a stall_after, or settings of its executor's
// own. Frozen: logs with this shape exist on users' disks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/run_events.h"
#include "store/history.h"
#include "store/run_started_v2.h"

namespace signalbox {

struct StationDefinitionV1 {
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
};
BOOST_DESCRIBE_STRUCT(StationDefinitionV1, (),
                      (name, executor, command, timeout_ms, heartbeat_timeout_ms, cancel_grace_ms,
                       require_result, environment, remote, retry))

struct PipelineDefinitionV1 {
  std::string name;
  std::vector<StationDefinitionV1> stations;
};
BOOST_DESCRIBE_STRUCT(PipelineDefinitionV1, (), (name, stations))

struct RunStartedV1 {
  std::string goal;
  std::string input;
  std::string project;
  std::map<std::string, std::string> labels;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinitionV1> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
};
BOOST_DESCRIBE_STRUCT(RunStartedV1, (),
                      (goal, input, project, labels, idempotency_key, request_digest,
                       pipeline_digest, pipeline, run_root, repository, base))

inline StationDefinitionV2 upcast(StationDefinitionV1 old) {
  StationDefinitionV2 station;
  station.name = std::move(old.name);
  station.executor = old.executor;
  station.command = std::move(old.command);
  station.timeout_ms = old.timeout_ms;
  station.heartbeat_timeout_ms = old.heartbeat_timeout_ms;
  station.cancel_grace_ms = old.cancel_grace_ms;
  station.require_result = old.require_result;
  station.environment = std::move(old.environment);
  station.remote = std::move(old.remote);
  station.retry = std::move(old.retry);
  station.stall_after_ms = 0;
  station.stall_actions = {StallAction::nudge, StallAction::next_strategy, StallAction::fail};
  return station;
}

inline RunStartedV2 upcast(RunStartedV1 old) {
  RunStartedV2 event;
  event.goal = std::move(old.goal);
  event.input = std::move(old.input);
  event.project = std::move(old.project);
  event.labels = std::move(old.labels);
  event.idempotency_key = std::move(old.idempotency_key);
  event.request_digest = old.request_digest;
  event.pipeline_digest = old.pipeline_digest;
  if (old.pipeline) {
    PipelineDefinitionV2& pipeline = event.pipeline.emplace();
    pipeline.name = std::move(old.pipeline->name);
    for (StationDefinitionV1& station : old.pipeline->stations) {
      pipeline.stations.push_back(upcast(std::move(station)));
    }
  }
  event.run_root = std::move(old.run_root);
  event.repository = std::move(old.repository);
  event.base = std::move(old.base);
  return event;
}

template <>
struct History<RunStarted> {
  using Frozen = std::tuple<RunStartedV1, RunStartedV2>;
};

}  // namespace signalbox
