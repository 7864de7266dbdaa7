// Events of a run as a whole, from its start to its end and its retries. They lie in the run's
// stream, `run/<id>`. The transition table is in run.h.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/station_events.h"

namespace signalbox {

// A run was accepted and waits for its first claim. The pipeline is pinned by digest. The
// definition itself is present only if the world doesn't hold it (World::pipelines).
struct RunStarted {
  static constexpr EventTag tag{201, 3, "RunStarted"};
  FreeText goal;
  FreeJson input;  // a JSON value as text, or empty
  KeptText project;
  FreeLabels labels;
  KeptText idempotency_key;
  Digest request_digest;  // of the request that the idempotency key stands for
  Digest pipeline_digest;
  std::optional<PipelineDefinition> pipeline;
  KeptText run_root;    // empty: <data>/runs/<run id>
  KeptText repository;  // a git repository on this machine, or empty
  KeptText base;        // the commit or branch to start from, or empty for HEAD
  Budget budget;
  std::optional<std::uint32_t> max_retries;  // overrides that of its stations

  friend bool operator==(const RunStarted&, const RunStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(RunStarted, (),
                      (goal, input, project, labels, idempotency_key, request_digest,
                       pipeline_digest, pipeline, run_root, repository, base, budget, max_retries))

struct RunSucceeded {
  static constexpr EventTag tag{202, 1, "RunSucceeded"};

  friend bool operator==(const RunSucceeded&, const RunSucceeded&) = default;
};
BOOST_DESCRIBE_STRUCT(RunSucceeded, (), ())

struct RunFailed {
  static constexpr EventTag tag{203, 1, "RunFailed"};
  KeptText station;
  ErrorClass error_class = ErrorClass::terminal;
  KeptText code;
  FreeText message;

  friend bool operator==(const RunFailed&, const RunFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(RunFailed, (), (station, error_class, code, message))

// Cancellation was requested; the job of the attempt under way is being ended. If a person rejected
// what an outside worker's attempt asked for, its end is in the same commit.
struct RunCancelRequested {
  static constexpr EventTag tag{204, 2, "RunCancelRequested"};
  FreeText reason;
  // A person rejected what the attempt asked for: the run fails when its job has ended, instead of
  // being canceled. The record's actor is that person.
  bool rejects = false;

  friend bool operator==(const RunCancelRequested&, const RunCancelRequested&) = default;
};
BOOST_DESCRIBE_STRUCT(RunCancelRequested, (), (reason, rejects))

struct RunCanceled {
  static constexpr EventTag tag{205, 1, "RunCanceled"};
  FreeText reason;

  friend bool operator==(const RunCanceled&, const RunCanceled&) = default;
};
BOOST_DESCRIBE_STRUCT(RunCanceled, (), (reason))

// No attempt starts until the run is resumed; one that is under way finishes.
struct RunPaused {
  static constexpr EventTag tag{206, 1, "RunPaused"};
  FreeText reason;

  friend bool operator==(const RunPaused&, const RunPaused&) = default;
};
BOOST_DESCRIBE_STRUCT(RunPaused, (), (reason))

struct RunResumed {
  static constexpr EventTag tag{207, 1, "RunResumed"};
  FreeText reason;

  friend bool operator==(const RunResumed&, const RunResumed&) = default;
};
BOOST_DESCRIBE_STRUCT(RunResumed, (), (reason))

// The run's budget was replaced. What the run has used already counts against the new one.
struct RunBudgetRaised {
  static constexpr EventTag tag{208, 1, "RunBudgetRaised"};
  Budget budget;
  FreeText reason;

  friend bool operator==(const RunBudgetRaised&, const RunBudgetRaised&) = default;
};
BOOST_DESCRIBE_STRUCT(RunBudgetRaised, (), (budget, reason))

// A failed run was reopened at the station that failed; no other station is repeated. The event
// carries the whole open run (run_retry.h), because the world keeps little more of a failed run
// than its id. Project and labels stay those of RunStarted.
struct RunRetried {
  static constexpr EventTag tag{209, 3, "RunRetried"};
  KeptText station;
  FreeText reason;
  Strategy strategy = Strategy::original;  // of the next attempt
  Position started_at = 0;                 // position of its RunStarted
  FreeText goal;
  FreeJson input;
  KeptText idempotency_key;
  Digest request_digest;
  Digest pipeline_digest;
  std::optional<PipelineDefinition> pipeline;  // as in RunStarted
  KeptText run_root;
  KeptText repository;
  KeptText base;
  Budget budget;
  Usage used;
  std::optional<std::uint32_t> max_retries;
  FreeText resume_ref;
  FreeText previous;                    // how the failed attempt ended
  std::vector<std::uint32_t> attempts;  // attempts so far of each station, in pipeline order
  KeptText machine;                     // that has its workspace; empty: none, or not recorded

  friend bool operator==(const RunRetried&, const RunRetried&) = default;
};
BOOST_DESCRIBE_STRUCT(RunRetried, (),
                      (station, reason, strategy, started_at, goal, input, idempotency_key,
                       request_digest, pipeline_digest, pipeline, run_root, repository, base,
                       budget, used, max_retries, resume_ref, previous, attempts, machine))

// What an attempt of the run has used up, which was told only after the attempt had ended, such as
// by a runner that was away for longer than its lease. Happens to a run that has ended, too, and
// changes nothing but the figures. The record's cause is the attempt's token, and its span that of
// the attempt. At most one for each attempt, and none if its end came with StationUsageReported.
struct LateUsageReported {
  static constexpr EventTag tag{210, 1, "LateUsageReported"};
  KeptText station;
  std::uint32_t attempt = 1;
  Usage usage;

  friend bool operator==(const LateUsageReported&, const LateUsageReported&) = default;
};
BOOST_DESCRIBE_STRUCT(LateUsageReported, (), (station, attempt, usage))

using RunEvents =
    std::variant<RunStarted, RunSucceeded, RunFailed, RunCancelRequested, RunCanceled, RunPaused,
                 RunResumed, RunBudgetRaised, RunRetried, LateUsageReported>;
using RunEvent = OneOf<RunEvents>;

}  // namespace signalbox
