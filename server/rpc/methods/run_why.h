// `run.why`: projections/why.h, with what is around the run as of the moment of the question.
#pragma once

#include <functional>

#include "projections/run_index.h"
#include "server/rpc/method.h"

namespace signalbox {

void why_run(Api& api, Call& call);

// Its answer for a run as of this moment: asked on the engine's thread, given on the projector's.
std::function<Decided<boost::json::object>(const RunIndex& index)> why_of_run(Api& api,
                                                                              const RunId& run_id);

}  // namespace signalbox
