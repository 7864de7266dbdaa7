// Load over the socket: many workers that pass runs through five stations, from one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/cli/call_error.h"

namespace signalbox {

struct Load {
  std::filesystem::path socket;
  std::size_t workers = 1;     // one connection each
  std::size_t runs_ahead = 0;  // started before the measurement, so that claims find work
  std::chrono::nanoseconds warm_up{};
  std::chrono::nanoseconds duration{};
};

// Of the time after the warm-up. Everything counted was acknowledged.
struct LoadResult {
  double stations_per_second = 0;
  std::uint64_t stations = 0;
  double p50_us = 0;  // a station.complete that claims the next one, from sending to its answer
  double p99_us = 0;
};

// Each worker completes its station and claims the next one in one call; whenever a run has
// succeeded, its worker starts another one. Any error that the server answers ends the load.
Called<LoadResult> run_load(const Load& load);

// Starts `runs` runs with as many requests under way as the server takes, and leaves them open.
Called<void> start_runs(const std::filesystem::path& socket, std::size_t runs);

}  // namespace signalbox
