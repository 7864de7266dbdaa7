// The timeline of a run: its stations and their attempts, as a pure function of its records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/command.h"
#include "domain/default_pipeline.h"
#include "domain/event.h"
#include "domain/run.h"

namespace signalbox {

struct TimelineStall {
  // UTC, like all times in this file.
  std::int64_t at_ns = 0;
  StallAction action = StallAction::nudge;
  std::int64_t stalled_ms = 0;

  friend bool operator==(const TimelineStall&, const TimelineStall&) = default;
};

struct TimelineAttempt {
  std::uint32_t number = 0;
  Strategy strategy = Strategy::original;
  std::string worker;
  Token token = 0;
  Uuid span_id{};
  std::int64_t started_at_ns = 0;
  std::int64_t ended_at_ns = 0;    // 0: in progress
  std::optional<Outcome> outcome;  // nullopt: in progress, or deferred
  bool deferred = false;           // the worker gave the attempt back
  std::string deferred_note;
  std::optional<Failure> failure;
  Token lock_token = 0;  // of the lock that it held; 0: none
  std::vector<TimelineStall> stalls;
  std::optional<WatchdogTimedOut> timed_out;
  std::string job_id;    // from the intent to submit its job; empty: none
  AttemptResult result;  // external_ref is set as soon as it is known
  Usage usage;

  friend bool operator==(const TimelineAttempt&, const TimelineAttempt&) = default;
};

// An operator's decision about an approval station, or about what an attempt asked for.
struct TimelineDecision {
  Decision decision = Decision::approve;
  std::int64_t at_ns = 0;
  std::string actor;
  std::string reason;
  std::uint32_t attempt = 0;  // that it is about; 0: none, of an approval station

  friend bool operator==(const TimelineDecision&, const TimelineDecision&) = default;
};

// An operator's retry of the failed run.
struct TimelineRetry {
  std::int64_t at_ns = 0;
  Position position = 0;
  std::string actor;
  std::string reason;
  std::string station;
  Strategy strategy = Strategy::original;

  friend bool operator==(const TimelineRetry&, const TimelineRetry&) = default;
};

struct TimelineStation {
  std::string name;
  ExecutorKind executor = ExecutorKind::worker;
  StationStatus status = StationStatus::pending;
  std::optional<WaitReason> waiting;  // reason while the station waits; else nullopt
  std::int64_t waiting_until_ns = 0;
  std::string waiting_note;  // for a station that waits for a person: what is asked for
  Position asked = 0;        // position of what it waits to have decided; 0: no decision
  std::vector<TimelineAttempt> attempts;
  std::optional<TimelineDecision> decided;  // the latest one, until another is asked for

  friend bool operator==(const TimelineStation&, const TimelineStation&) = default;
};

struct TimelineCancel {
  std::int64_t requested_at_ns = 0;
  std::string actor;
  std::string reason;
  bool confirmed = false;                  // its job and all descendants have ended
  std::vector<std::int32_t> escaped_pids;  // processes that are left, if it couldn't be confirmed

  friend bool operator==(const TimelineCancel&, const TimelineCancel&) = default;
};

struct RunTimeline {
  RunId run_id{};
  RunStatus status = RunStatus::queued;
  RunStarted started;    // has `pipeline` only if the definition was stored with it
  std::string actor;     // that started the run
  std::string pipeline;  // name of the pipeline
  Mocked mocked = Mocked::nothing;
  Position started_position = 0;
  Position last_position = 0;
  std::int64_t started_at_ns = 0;
  std::int64_t ended_at_ns = 0;  // 0: open
  std::optional<RunFailed> failure;
  std::string not_retried;    // why no attempt followed the failure; empty unless it failed
  std::string paused_reason;  // empty unless it is paused
  Budget budget;              // limit of `used`
  Usage used;
  std::optional<std::uint32_t> max_retries;  // overrides the stations' own
  std::optional<TimelineCancel> cancel;
  std::vector<TimelineRetry> retries;
  std::vector<TimelineStation> stations;  // in the pipeline's order

  friend bool operator==(const RunTimeline&, const RunTimeline&) = default;
};

// Computes the timeline. `records` are all records of the run up to some position, ascending, from
// its RunStarted on; heartbeats may be omitted. `pipeline` is the definition that it pinned.
RunTimeline fold_timeline(std::span<const Record> records, const PipelineDefinition& pipeline);

// Returns the command that prints what the job of the station's latest attempt printed; empty if
// that had no job, or one at an endpoint, which keeps the output.
std::string log_command(const RunTimeline& run, const std::string& station);

}  // namespace signalbox
