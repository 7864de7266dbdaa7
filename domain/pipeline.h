// A pipeline: the ordered stations that a run passes, as its definition was pinned at the start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/error.h"

namespace signalbox {

// Who does a station's work. Stored as a number: append only.
enum class ExecutorKind : std::uint8_t { worker = 1, process = 2, builtin = 3 };
BOOST_DESCRIBE_ENUM(ExecutorKind, worker, process, builtin)

// How an attempt goes about its work. Stored as a number: append only.
enum class Strategy : std::uint8_t {
  original = 1,
  simplified = 2,
  alternative = 3,
  decomposed = 4
};
BOOST_DESCRIBE_ENUM(Strategy, original, simplified, alternative, decomposed)

// What is done about an attempt that is alive but doesn't get on. Stored as a number: append only.
enum class StallAction : std::uint8_t {
  nudge = 1,          // tell it, with its next heartbeat
  next_strategy = 2,  // end the attempt; the next one goes about it in another way
  fail = 3            // end the station
};
BOOST_DESCRIBE_ENUM(StallAction, nudge, next_strategy, fail)

struct RetryPolicy {
  std::uint32_t max_retries = 3;   // attempts that may fail = 1 + max_retries
  std::int64_t backoff_ms = 1000;  // before the first retry; doubled for each further one
  std::vector<Strategy> strategies = {Strategy::original};

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
BOOST_DESCRIBE_STRUCT(RetryPolicy, (), (max_retries, backoff_ms, strategies))

struct StationDefinition {
  std::string name;
  ExecutorKind executor = ExecutorKind::worker;
  std::vector<std::string> command;                // argv; process only
  std::int64_t timeout_ms = 30 * 60 * 1000;        // of an attempt, since its latest progress
  std::int64_t heartbeat_timeout_ms = 120 * 1000;  // an outside worker's lease, unless it asks
  std::int64_t cancel_grace_ms = 5000;             // between TERM and KILL
  bool require_result = false;                     // process: exit 0 isn't enough, see PROTOCOL.md
  std::vector<std::string> environment;            // names of variables passed on to the job
  std::string remote;                              // builtin create_pr: where to push, or nowhere
  RetryPolicy retry;
  std::int64_t stall_after_ms = 0;  // with an unchanged progress digest; 0: never
  // One after the other, a stall_after each; the last one is repeated.
  std::vector<StallAction> stall_actions = {StallAction::nudge, StallAction::next_strategy,
                                            StallAction::fail};

  friend bool operator==(const StationDefinition&, const StationDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(StationDefinition, (),
                      (name, executor, command, timeout_ms, heartbeat_timeout_ms, cancel_grace_ms,
                       require_result, environment, remote, retry, stall_after_ms, stall_actions))

struct PipelineDefinition {
  std::string name;
  std::vector<StationDefinition> stations;

  friend bool operator==(const PipelineDefinition&, const PipelineDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(PipelineDefinition, (), (name, stations))

// `intake`, `plan`, `implement`, `verify`, `create_pr`; the middle three are for outside workers.
PipelineDefinition default_pipeline();

// PIPELINE_INVALID with the station and field that is wrong, or nothing.
Decided<void> validate(const PipelineDefinition& pipeline);

// The pause before retry number `failures` (1 for the first), doubling, at most
// limits::backoff_ms_max.
std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t failures);

}  // namespace signalbox
