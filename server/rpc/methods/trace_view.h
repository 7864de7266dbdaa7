// `run.trace`: a run as the spans that a collector is told of, and those under way.
#pragma once

#include <boost/describe/class.hpp>

#include "server/followers/traces/otlp_json.h"
#include "server/rpc/method.h"

namespace signalbox {

struct TraceRun {
  RunId run_id{};
  std::optional<bool> otlp;  // with the request that a collector takes, of the spans that ended
};
BOOST_DESCRIBE_STRUCT(TraceRun, (), (run_id, otlp))

// `resource` is who the spans are of.
void trace_run(Api& api, Call& call, const TraceResource& resource);

}  // namespace signalbox
