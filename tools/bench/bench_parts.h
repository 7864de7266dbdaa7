// The parts of `signalbox bench`. Each measures its yardstick in the same rounds.
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
  std::filesystem::path directory;      // on the measured disk; each part adds its own below it
  std::chrono::nanoseconds duration{};  // of one measurement
  std::size_t rounds = 3;
  std::uint64_t events = 0;                        // in each generated log
  std::uint64_t long_log_events = 0;               // in the longest one, of `scale`
  std::string engine;                              // URL of the cell's database; or empty
  std::function<void(const std::string&)> report;  // prints progress for a person
};

using BenchPart = Called<std::vector<Measured>> (*)(const BenchPlan& plan);

// Measures stations per second and their latency over the socket, against fdatasync on this disk.
Called<std::vector<Measured>> bench_socket(const BenchPlan& plan);
// Measures the engine without a socket against RocksDB alone, and replay against a raw scan.
Called<std::vector<Measured>> bench_engine(const BenchPlan& plan);
// Measures what a long log costs (bench_long_log.h), the memory of open runs, and the latency of
// commands during snapshots of many.
Called<std::vector<Measured>> bench_scale(const BenchPlan& plan);

// Measures export and verification, against a raw scan.
Called<std::vector<Measured>> bench_audit(const BenchPlan& plan);

// Measures the size and the opening time of a log over a year of runs, of which a month is kept.
Called<std::vector<Measured>> bench_retention(const BenchPlan& plan);

// Measures queries about the past of a large log, and the latency of commands beside them.
Called<std::vector<Measured>> bench_past(const BenchPlan& plan);

// Measures the timeline of a night of many runs, what has changed over it, and the time in which
// the program starts.
Called<std::vector<Measured>> bench_night(const BenchPlan& plan);

// Measures a tick of the heartbeat on a large board.
Called<std::vector<Measured>> bench_board(const BenchPlan& plan);
// Measures the latency on the socket beside many concurrent jobs, and the memory of a job.
Called<std::vector<Measured>> bench_jobs(const BenchPlan& plan);

// Measures how long the engine takes to give a ready job to one of many runners.
Called<std::vector<Measured>> bench_runners(const BenchPlan& plan);

// Measures a cell over the database plan.engine, against bare appends to the same database.
Called<std::vector<Measured>> bench_cell(const BenchPlan& plan);

// Measures how far forecasts of `replay --what-if` are from doing the work under the other policy.
Called<std::vector<Measured>> bench_what_if(const BenchPlan& plan);

}  // namespace signalbox
