// Methods of runs that have a source of their own, because each is a noun of its own: `run.retry`,
// `run.why`, `run.fence` and `run.trace`.
#pragma once

#include <functional>
#include <optional>

#include <boost/describe/class.hpp>

#include "projections/run_index.h"
#include "server/followers/traces/otlp_json.h"
#include "server/rpc/method.h"

namespace signalbox {

// `run.retry`: takes a failed run up again at the station that failed. Its decision needs what the
// world has let go: the run's records, read off the engine's thread and folded with the same
// evolve().
void retry_run(Api& api, Call& call);

// `run.why`: projections/why.h, with what is around the run as of the moment of the question.
void why_run(Api& api, Call& call);

// Its answer for a run as of this moment: asked on the engine's thread, given on the projector's.
std::function<Decided<boost::json::object>(const RunIndex& index)> why_of_run(Api& api,
                                                                              const RunId& run_id);

// `run.fence`: whether whoever works in a run's worktree still may. The pre-push hook asks it.
struct CheckFence {
  RunId run_id{};
  Token token = 0;                     // of the run's start, as in its branch's name
  std::optional<Uuid> span_id;         // of the attempt that asks
  std::optional<Token> attempt_token;  // likewise
};
BOOST_DESCRIBE_STRUCT(CheckFence, (), (run_id, token, span_id, attempt_token))
void check_fence(Api& api, Call& call);

// `run.trace`: a run as the spans that a collector is told of, and those under way.
struct TraceRun {
  RunId run_id{};
  std::optional<bool> otlp;  // with the request that a collector takes, of the spans that ended
};
BOOST_DESCRIBE_STRUCT(TraceRun, (), (run_id, otlp))
// `resource` is who the spans are of.
void trace_run(Api& api, Call& call, const TraceResource& resource);

}  // namespace signalbox
