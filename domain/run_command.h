// Commands about a run as a whole: the alternatives of Command (command.h) that start, end, pause,
// resume and retry runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/station_events.h"

namespace signalbox {

struct Run;

struct StartRun {
  std::string goal;
  std::optional<std::string> input;  // a JSON value as text
  std::optional<std::string> project;
  std::map<std::string, std::string> labels;
  std::optional<PipelineDefinition> pipeline;  // default: default_pipeline()
  std::optional<std::string> idempotency_key;
  std::optional<std::string> run_root;    // absolute
  std::optional<std::string> repository;  // absolute
  std::optional<std::string> base;
  std::optional<Budget> budget;
  std::optional<std::uint32_t> max_retries;  // overrides that of its stations

  // The run whose directory in the data directory `run_root` is; nullopt: it is none of these.
  std::optional<RunId> directory_of = {};
  RunId run_id{};         // the id that the run gets if it is new
  Digest request_digest;  // of the request, to compare repetitions of an idempotency key
  Digest pipeline_digest;
};
BOOST_DESCRIBE_STRUCT(StartRun, (),
                      (goal, input, project, labels, pipeline, idempotency_key, run_root,
                       repository, base, budget, max_retries))

struct CancelRun {
  RunId run_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(CancelRun, (), (run_id, reason))

struct PauseRun {
  RunId run_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(PauseRun, (), (run_id, reason))

// A person's decision at an approval station.
enum class Decision : std::uint8_t { approve = 1, reject = 2 };
BOOST_DESCRIBE_ENUM(Decision, approve, reject)

// Resumes a run that is paused, waits for an approval, or has used up its budget. An approval needs
// `decision`, a budget that is used up needs a new `budget`. Without a decision, a station that
// waits for a time is tried now.
struct ResumeRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<Decision> decision;
  std::optional<Budget> budget;
  // The station that the decision is about, so that a decision based on an outdated view doesn't
  // apply to the next approval; default: the one that waits.
  std::optional<std::string> station = {};
  // The question that the decision answers (Run::asked_at), so that it doesn't apply to a later
  // question of the same station; default: the open one.
  std::optional<Position> asked = {};
};
BOOST_DESCRIBE_STRUCT(ResumeRun, (), (run_id, reason, decision, budget, station, asked))

// A run right before its failure, reconstructed from its records, because the world keeps only an
// EndedRun of it.
struct FailedRun {
  std::shared_ptr<const Run> run;  // nullptr: there are no such records
  Position failed_at = 0;          // position of its RunFailed
  Position read_at = 0;            // of the log when they were read
};

// Reopens a failed run at the station that failed.
struct RetryRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<std::uint32_t> max_retries;  // from now on, overrides that of its stations
  std::optional<Strategy> strategy;          // of the next attempt; default: the station's first
  // The failure that is meant: the latest one up to here. Default: whichever is the latest.
  std::optional<Position> failed_position;

  // The run right before its failure, reconstructed from its records, because the world keeps only
  // an EndedRun of it. nullptr: there are no such records.
  std::shared_ptr<const Run> failed;
  Position failed_at = 0;  // position of its RunFailed
  Position read_at = 0;    // of the log when they were read
};
BOOST_DESCRIBE_STRUCT(RetryRun, (), (run_id, reason, max_retries, strategy, failed_position))

// Sent by the service itself; no client can send them.

// Reports that the job of a run whose cancellation was requested has ended, except for
// `escaped_pids`.
struct ConfirmCancel {
  RunId run_id{};
  Token token = 0;
  std::vector<std::int32_t> escaped_pids = {};
  bool unconfirmed = false;  // the executor didn't confirm the end of the job
  Usage usage = {};          // what the job used up until its end, valid
};

// Reports what an attempt has used up that ended without a word about it. The records of its run
// were read for this: they have the attempt and its end, and no usage of it.
struct NoteLateUsage {
  RunId run_id{};
  std::string station;
  std::uint32_t attempt = 1;
  Token token = 0;  // of the attempt
  Uuid span_id{};   // of the attempt
  Usage usage = {};
  Position read_at = 0;  // of the log when the records were read
};

}  // namespace signalbox
