// Generates load over the socket: many workers that take runs through five stations, driven by one
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tools/cli/call_error.h"

namespace signalbox {

struct Load {
  std::filesystem::path socket;
  std::size_t workers = 1;     // with one connection each
  std::size_t runs_ahead = 0;  // started before the measurement, so that claims find work
  std::chrono::nanoseconds warm_up{};
  std::chrono::nanoseconds duration{};
  // Called when the measurement begins and when it has ended; nothing is received meanwhile.
  std::function<Called<void>()> mark = {};
};

// Counts of the time after the warm-up; only acknowledged operations are counted.
struct LoadResult {
  double stations_per_second = 0;
  std::uint64_t stations = 0;
  double p50_us = 0;  // latency of a station.complete that claims the next station
  double p99_us = 0;
  double run_p50_us = 0;  // from a run's start to the end of its last station
  double run_p99_us = 0;
};

// Runs the load and blocks until its end. Each worker completes its station and claims the next one
// in one call; after a run has succeeded, its worker starts another. Fails with the first error
// that the server answers.
Called<LoadResult> run_load(const Load& load);

// Starts `runs` runs, with up to 512 requests in flight, and leaves them open.
Called<void> start_runs(const std::filesystem::path& socket, std::size_t runs);

}  // namespace signalbox
