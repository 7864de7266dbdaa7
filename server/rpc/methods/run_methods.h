// The methods of runs that each have a source file of their own: `run.retry`, `run.why`,
// `run.fence`, `run.list`, `run.trace`, `run.diff` and `run.log`. run_methods.cc has the others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

// The params of `run.list`. All filters must match.
struct ListRuns {
  std::vector<RunStatus> status;        // any of them
  std::vector<WaitReason> waiting_for;  // any of them
  std::optional<std::string> project;
  std::optional<std::string> label;  // "name=value"
  std::optional<std::string> station;
  std::optional<std::string> code;
  std::optional<std::string> text;
  std::optional<std::string> since;  // a time or an age
  std::optional<std::string> until;
  std::optional<RunOrder> order_by;  // else started
  bool totals = false;
  std::optional<std::uint32_t> limit;
  std::optional<Position> cursor;
};
BOOST_DESCRIBE_STRUCT(ListRuns, (),
                      (status, waiting_for, project, label, station, code, text, since, until,
                       order_by, totals, limit, cursor))
// Handles `run.list`. LIMIT_EXCEEDED if the order or the totals need too many runs.
void list_runs(Api& api, Call& call);
// Returns LIMIT_EXCEEDED for a query that would have to look at more than run_list_looked_at_max
// runs.
Rejection too_many_runs();

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

enum class TimelineGroup : std::uint8_t {
  run = 1,
  project = 2,
  pipeline = 3,
  worker = 4,
  lock = 5
};
BOOST_DESCRIBE_ENUM(TimelineGroup, run, project, pipeline, worker, lock)

// The params of `timeline.get`, which shows many runs, or who held which lock, as bars over a span
// of time.
struct GetTimeline {
  std::optional<std::string> from;  // a position, a time or an age; else a day ago
  std::optional<std::string> to;    // else now
  std::optional<TimelineGroup> group;
  std::optional<std::string> project;  // not of locks
  std::optional<std::uint32_t> max_rows;
  std::optional<std::int64_t> resolution_ms;
};
BOOST_DESCRIBE_STRUCT(GetTimeline, (), (from, to, group, project, max_rows, resolution_ms))
// Handles `timeline.get`. LIMIT_EXCEEDED if too many runs or holds would have to be read.
void get_timeline(Api& api, Call& call);

// The params of `run.diff`, which shows what a run has changed.
struct DiffRun {
  RunId run_id{};
  std::optional<std::string> path;      // of one file or directory; else all
  std::optional<std::uint64_t> offset;  // of the first byte of the text; else 0
};
BOOST_DESCRIBE_STRUCT(DiffRun, (), (run_id, path, offset))
// Handles `run.diff`. RUN_NOT_FOUND; ARTIFACT_NOT_FOUND if nothing of the change is left;
// GIT_FAILED if that can't be said.
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
