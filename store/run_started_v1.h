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
  move_fields(old, station);
  station.stall_after_ms = 0;
  station.stall_actions = {StallAction::nudge, StallAction::next_strategy, StallAction::fail};
  return station;
}

inline RunStartedV2 upcast(RunStartedV1 old) {
  RunStartedV2 event;
  move_fields<&RunStartedV1::pipeline>(old, event);
  if (old.pipeline) {
    PipelineDefinitionV2& pipeline = event.pipeline.emplace();
    pipeline.name = std::move(old.pipeline->name);
    for (StationDefinitionV1& station : old.pipeline->stations) {
      pipeline.stations.push_back(upcast(std::move(station)));
    }
  }
  return event;
}

template <>
struct History<RunStarted> {
  using Frozen = std::tuple<RunStartedV1, RunStartedV2>;
};

}  // namespace signalbox
