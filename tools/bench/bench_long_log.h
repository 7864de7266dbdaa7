// Measures what the length of the log costs: a server over a short log and one over a long one, in
// the same run.
#pragma once

#include <vector>

#include "tools/bench/bench_parts.h"
#include "tools/bench/bench_report.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Makes both logs, the long one of `plan.long_log_events`, and removes them at the end. Returns how
// long starts and pages take, what memory and disk they need, and what commands reach.
Called<std::vector<Measured>> bench_long_log(const BenchPlan& plan);

}  // namespace signalbox
