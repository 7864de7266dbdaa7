// The events of a run and of its stations as they were stored in earlier versions. Frozen: logs
// with these shapes exist on users' disks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/run_events.h"
#include "domain/station_events.h"
#include "store/history.h"
#include "store/moved_fields.h"
#include "store/pipeline_definition_v2.h"

namespace signalbox {

// RunStarted as it was stored before its pipeline said whether a station names max_retries.
struct RunStartedV2 {
  std::string goal;
  std::string input;
  std::string project;
  std::map<std::string, std::string> labels;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinitionV2> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
  Budget budget = {};
  std::optional<std::uint32_t> max_retries;
};
BOOST_DESCRIBE_STRUCT(RunStartedV2, (),
                      (goal, input, project, labels, idempotency_key, request_digest,
                       pipeline_digest, pipeline, run_root, repository, base, budget, max_retries))

inline RunStarted upcast(RunStartedV2 old) {
  RunStarted event;
  move_fields<&RunStartedV2::pipeline>(old, event);
  if (old.pipeline) event.pipeline = upcast(*std::move(old.pipeline));
  return event;
}

// RunStarted as it was stored before a station had a stall_after, or settings of its executor's
// own.
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

// RunRetried as it was stored before its pipeline said whether a station names max_retries.
struct RunRetriedV1 {
  std::string station;
  std::string reason;
  Strategy strategy = Strategy::original;
  Position started_at = 0;
  std::string goal;
  std::string input;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinitionV2> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
  Budget budget = {};
  Usage used = {};
  std::optional<std::uint32_t> max_retries;
  std::string resume_ref;
  std::string previous;
  std::vector<std::uint32_t> attempts;
};
BOOST_DESCRIBE_STRUCT(RunRetriedV1, (),
                      (station, reason, strategy, started_at, goal, input, idempotency_key,
                       request_digest, pipeline_digest, pipeline, run_root, repository, base,
                       budget, used, max_retries, resume_ref, previous, attempts))

// RunRetried as it was stored before it said where the run has its workspace.
struct RunRetriedV2 {
  std::string station;
  std::string reason;
  Strategy strategy = Strategy::original;
  Position started_at = 0;
  std::string goal;
  std::string input;
  std::string idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinition> pipeline;
  std::string run_root;
  std::string repository;
  std::string base;
  Budget budget = {};
  Usage used = {};
  std::optional<std::uint32_t> max_retries;
  std::string resume_ref;
  std::string previous;
  std::vector<std::uint32_t> attempts;
};
BOOST_DESCRIBE_STRUCT(RunRetriedV2, (),
                      (station, reason, strategy, started_at, goal, input, idempotency_key,
                       request_digest, pipeline_digest, pipeline, run_root, repository, base,
                       budget, used, max_retries, resume_ref, previous, attempts))

inline RunRetriedV2 upcast(RunRetriedV1 old) {
  RunRetriedV2 event;
  move_fields<&RunRetriedV1::pipeline>(old, event);
  if (old.pipeline) event.pipeline = upcast(*std::move(old.pipeline));
  return event;
}

inline RunRetried upcast(RunRetriedV2 old) {
  RunRetried event;
  move_fields(old, event);
  return event;
}

template <>
struct History<RunRetried> {
  using Frozen = std::tuple<RunRetriedV1, RunRetriedV2>;
};

// RunCancelRequested as it was stored before it distinguished a rejected approval from a
// cancellation.
struct RunCancelRequestedV1 {
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(RunCancelRequestedV1, (), (reason))

inline RunCancelRequested upcast(RunCancelRequestedV1 old) {
  return {std::move(old.reason), /*rejects=*/false};
}

template <>
struct History<RunCancelRequested> {
  using Frozen = std::tuple<RunCancelRequestedV1>;
};

// StationClaimed as it was stored before an attempt could hold a lock.
struct StationClaimedV1 {
  std::string station;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  std::string worker;
  std::int64_t lease_ms = 0;
};
BOOST_DESCRIBE_STRUCT(StationClaimedV1, (), (station, attempt, strategy, worker, lease_ms))

inline StationClaimed upcast(StationClaimedV1 old) {
  return {std::move(old.station), old.attempt, old.strategy, std::move(old.worker), old.lease_ms,
          /*lock_token=*/0};
}

template <>
struct History<StationClaimed> {
  using Frozen = std::tuple<StationClaimedV1>;
};

// StationSubmitIntended as it was stored before it named the machine that submits the job.
struct StationSubmitIntendedV1 {
  std::string station;
  std::string job_id;
};
BOOST_DESCRIBE_STRUCT(StationSubmitIntendedV1, (), (station, job_id))

inline StationSubmitIntended upcast(StationSubmitIntendedV1 old) {
  return {std::move(old.station), std::move(old.job_id), /*machine=*/{}};
}

template <>
struct History<StationSubmitIntended> {
  using Frozen = std::tuple<StationSubmitIntendedV1>;
};

}  // namespace signalbox
