// The timeline of a run: its stations and each attempt at them, as a pure fold of its records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/command.h"
#include "domain/event.h"
#include "domain/run.h"

namespace signalbox {

struct TimelineStall {
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
  std::int64_t ended_at_ns = 0;    // 0: under way
  std::optional<Outcome> outcome;  // none: under way, or deferred
  bool deferred = false;           // the worker gave it back
  std::string deferred_note;
  std::optional<Failure> failure;
  Token lock_token = 0;  // of the lock that it held, or 0
  std::vector<TimelineStall> stalls;
  std::optional<WatchdogTimedOut> timed_out;
  std::string job_id;    // the intent to submit it, if there was one
  AttemptResult result;  // external_ref is there as soon as it is known
  Usage usage;

  friend bool operator==(const TimelineAttempt&, const TimelineAttempt&) = default;
};

// What a person decided about an approval station.
struct TimelineDecision {
  Decision decision = Decision::approve;
  std::int64_t at_ns = 0;
  std::string actor;
  std::string reason;

  friend bool operator==(const TimelineDecision&, const TimelineDecision&) = default;
};

// A person took the run up again after its failure.
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
  std::optional<WaitReason> waiting;  // while it waits
  std::int64_t waiting_until_ns = 0;
  std::string waiting_note;  // of one that waits for a person: what is asked for
  std::vector<TimelineAttempt> attempts;
  std::optional<TimelineDecision> decided;

  friend bool operator==(const TimelineStation&, const TimelineStation&) = default;
};

struct TimelineCancel {
  std::int64_t requested_at_ns = 0;
  std::string actor;
  std::string reason;
  bool confirmed = false;                  // its job and all descendants are gone
  std::vector<std::int32_t> escaped_pids;  // or these are left

  friend bool operator==(const TimelineCancel&, const TimelineCancel&) = default;
};

struct RunTimeline {
  RunId run_id{};
  RunStatus status = RunStatus::queued;
  RunStarted started;    // `pipeline` is there only if the definition was stored with it
  std::string actor;     // who started it
  std::string pipeline;  // its name
  Position started_position = 0;
  Position last_position = 0;
  std::int64_t started_at_ns = 0;
  std::int64_t ended_at_ns = 0;  // 0: open
  std::optional<RunFailed> failure;
  std::string paused_reason;  // while it is paused
  Budget budget;              // what it may use up, and what it did
  Usage used;
  std::optional<std::uint32_t> max_retries;  // instead of what its stations say
  std::optional<TimelineCancel> cancel;
  std::vector<TimelineRetry> retries;
  std::vector<TimelineStation> stations;  // of the pipeline, in order

  friend bool operator==(const RunTimeline&, const RunTimeline&) = default;
};

// `records` are all of the run up to some position, ascending, from its RunStarted on; heartbeats
// may be left out. `pipeline` is the definition that it pinned.
RunTimeline fold_timeline(std::span<const Record> records, const PipelineDefinition& pipeline);

}  // namespace signalbox
