// Commands about a run as a whole. A part of command.h.
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

namespace signalbox {

struct Run;

struct StartRun {
  std::string goal;
  std::optional<std::string> input;  // a JSON value as text
  std::optional<std::string> project;
  std::map<std::string, std::string> labels;
  std::optional<PipelineDefinition> pipeline;  // default_pipeline() where none is given
  std::optional<std::string> idempotency_key;
  std::optional<std::string> run_root;    // absolute
  std::optional<std::string> repository;  // absolute
  std::optional<std::string> base;
  std::optional<Budget> budget;
  std::optional<std::uint32_t> max_retries;  // instead of what its stations say

  RunId run_id{};  // the id that the run gets if it is new
  Digest request_digest;
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

// Of a paused run: it goes on. Of one that waits for an approval: what was decided, and of which
// station, so that a decision made over an old view isn't taken for one about the next approval. Of
// one that used up its budget: what it may use from now on.
enum class Decision : std::uint8_t { approve = 1, reject = 2 };
BOOST_DESCRIBE_ENUM(Decision, approve, reject)

struct ResumeRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<Decision> decision;
  std::optional<Budget> budget;
  std::optional<std::string> station = {};  // whose approval is decided; else whichever waits
};
BOOST_DESCRIBE_STRUCT(ResumeRun, (), (run_id, reason, decision, budget, station))

// Takes up a failed run again at the station that failed.
struct RetryRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<std::uint32_t> max_retries;  // from now on, instead of what its stations say
  std::optional<Strategy> strategy;          // to begin with; else the station's first

  // The run right before its failure, from its records, and where that failure lies: the
  // world remembers less of a run that has ended. nullptr: there are no such records.
  std::shared_ptr<const Run> failed;
  Position failed_at = 0;
};
BOOST_DESCRIBE_STRUCT(RetryRun, (), (run_id, reason, max_retries, strategy))

// The service's own; no client can send them.

// The job of a run whose cancellation was requested is gone, but for these processes.
struct ConfirmCancel {
  RunId run_id{};
  Token token = 0;
  std::vector<std::int32_t> escaped_pids = {};
  bool unconfirmed = false;  // its executor couldn't be made to say that it is gone
};

}  // namespace signalbox
