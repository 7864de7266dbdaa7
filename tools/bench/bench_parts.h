// The parts of `signalbox bench`, each with its own yardstick in the same rounds.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/bench_report.h"
#include "tools/cli/call_error.h"

namespace signalbox {

struct BenchPlan {
  std::filesystem::path directory;  // empty, on the disk that is measured; each part adds its own
  std::chrono::nanoseconds duration{};  // of one measurement
  std::size_t rounds = 3;
  std::uint64_t events = 0;                        // of the logs that are made to be read
  std::function<void(const std::string&)> report;  // progress, for a person
};

using BenchPart = Called<std::vector<Measured>> (*)(const BenchPlan& plan);

// Stations a second and their latency over the socket, against fdatasync on this disk.
Called<std::vector<Measured>> bench_socket(const BenchPlan& plan);
// The engine without a socket against RocksDB itself, and replay against a raw scan.
Called<std::vector<Measured>> bench_engine(const BenchPlan& plan);
// A large log's opening time, memory of open and of ended runs, and snapshots in the latencies.
Called<std::vector<Measured>> bench_scale(const BenchPlan& plan);

// Export and verification, against a raw scan.
Called<std::vector<Measured>> bench_audit(const BenchPlan& plan);

// A year of runs whose log is kept at a month: what it takes, and how long it takes to open.
Called<std::vector<Measured>> bench_retention(const BenchPlan& plan);

// A tick of the heartbeat over a large board.
Called<std::vector<Measured>> bench_board(const BenchPlan& plan);
// What many jobs at the same time do to the socket, and what they cost.
Called<std::vector<Measured>> bench_jobs(const BenchPlan& plan);

}  // namespace signalbox
