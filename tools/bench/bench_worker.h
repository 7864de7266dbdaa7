// One worker of the load: a connection and the requests that it has outstanding.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/bench/bench_report.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Counts shared by all workers.
struct LoadCount {
  bool measuring = false;  // false during the warm-up: nothing is counted
  std::uint64_t stations = 0;
  Quantiles completes;  // latencies of station.complete
  Quantiles runs;       // from the request that started a run to the answer that it has succeeded
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> open_runs;  // by id
};

// Receives without blocking: the caller polls the descriptor and calls on_readable().
class BenchWorker {
 public:
  static Called<BenchWorker> connect(const std::filesystem::path& socket, std::size_t number);

  BenchWorker(BenchWorker&& other) noexcept;
  BenchWorker& operator=(BenchWorker&&) = delete;
  ~BenchWorker();

  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Queues run.start, and with `claim` a station.claim for this worker after it.
  void start_run(bool claim);
  // Receives the available answers, and sends the requests that follow from them.
  Called<void> on_readable(LoadCount& count);
  // Sends the queued requests. A worker has few, so that they always fit into the socket's buffer.
  Called<void> flush();
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }

 private:
  BenchWorker(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  Called<void> on_answer(std::string_view line, LoadCount& count);
  void end_run(LoadCount& count);
  void claim();
  void complete(std::string_view claim);

  int descriptor_;
  std::string name_;
  std::string outgoing_;
  std::string incoming_;
  std::size_t unanswered_ = 0;
  std::chrono::steady_clock::time_point completed_at_;
  std::string run_id_;                                            // of the station that it has
  std::deque<std::chrono::steady_clock::time_point> started_at_;  // runs without an answer yet
};

}  // namespace signalbox
