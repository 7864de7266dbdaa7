// The methods of runs that each have a source file of their own: `run.retry`, `run.why`,
// `run.fence`, `run.trace`, `run.diff` and `run.log`. run_methods.cc has the others.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "projections/run_index.h"
#include "server/followers/traces/otlp_json.h"
#include "server/rpc/method.h"

namespace signalbox {

// Handles `run.retry`: reopens a failed run at the station that failed. The decision needs the run
// as it was, which the world has forgotten: its records are read off the engine's thread and
// evolved with the same evolve().
void retry_run(Api& api, Call& call);

// Handles `run.why` with projections/why.h, for the state of the run and its context at the time of
// the request.
void why_run(Api& api, Call& call);

// Returns a function that computes the result of `run.why` for the present moment. Called on the
// engine's thread; the returned function is called on the projector's.
std::function<Decided<boost::json::object>(const RunIndex& index)> why_of_run(Api& api,
                                                                              const RunId& run_id);

// The params of `run.fence`, which checks that an attempt may still work in a run's worktree. The
// pre-push hook calls it.
struct CheckFence {
  RunId run_id{};
  Token token = 0;                     // of the run's start, as in its branch's name
  std::optional<Uuid> span_id;         // of the asking attempt
  std::optional<Token> attempt_token;  // of the asking attempt
};
BOOST_DESCRIBE_STRUCT(CheckFence, (), (run_id, token, span_id, attempt_token))
// Handles `run.fence`. RUN_NOT_FOUND, RUN_TERMINAL or STALE_TOKEN if the attempt may not go on.
void check_fence(Api& api, Call& call);

// The params of `run.trace`, which returns a run as the spans that the collector gets, and those
// under way.
struct TraceRun {
  RunId run_id{};
  std::optional<bool> otlp;  // adds the OTLP request for the spans that have ended
};
BOOST_DESCRIBE_STRUCT(TraceRun, (), (run_id, otlp))
// Handles `run.trace`. `resource` is the OpenTelemetry resource of the spans.
void trace_run(Api& api, Call& call, const TraceResource& resource);

// The params of `run.diff`, which shows what a run has changed.
struct DiffRun {
  RunId run_id{};
  std::optional<std::string> path;  // of one file or directory; else all
};
BOOST_DESCRIBE_STRUCT(DiffRun, (), (run_id, path))
// Handles `run.diff`. RUN_NOT_FOUND; ARTIFACT_NOT_FOUND if nothing of the change is left.
void diff_run(Api& api, Call& call);

// The params of `run.log`, which reads the output of an attempt's job.
struct ReadRunLog {
  RunId run_id{};
  std::optional<std::string> station;    // else that of the latest attempt with a job
  std::optional<std::uint32_t> attempt;  // else the latest one
  std::optional<std::string> stream;     // "stdout" or "stderr"; else stdout
  std::optional<std::uint64_t> offset;   // else 0
  std::optional<std::uint32_t> bytes;    // at most; else 64 KiB
};
BOOST_DESCRIBE_STRUCT(ReadRunLog, (), (run_id, station, attempt, stream, offset, bytes))
// Handles `run.log`. RUN_NOT_FOUND; ARTIFACT_NOT_FOUND if there is no such attempt, or it has no
// output on this machine; FILES_REMOVED.
void read_run_log(Api& api, Call& call);

}  // namespace signalbox
