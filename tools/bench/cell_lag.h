// How long after its acknowledgement a command shows at a server that stands by.
#pragma once

#include <chrono>
#include <filesystem>

#include "tools/bench/bench_report.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct LagPlan {
  std::filesystem::path active;  // sockets of the two servers
  std::filesystem::path standby;
  std::chrono::milliseconds pause{};    // between an answer and the next command
  std::chrono::nanoseconds duration{};  // of all
};

// Starts runs at the active server, one at a time, and returns for each how long after the answer a
// subscriber of the standby had its event: zero if it came before the answer.
Called<Quantiles> measure_lag(const LagPlan& plan);

}  // namespace signalbox
