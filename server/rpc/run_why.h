// `run.why`: projections/why.h, with what is around the run as of the moment of the question.
#pragma once

#include "server/rpc/method.h"

namespace signalbox {

void why_run(Api& api, Call& call);

}  // namespace signalbox
