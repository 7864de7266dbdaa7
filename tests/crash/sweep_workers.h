// The clients of a sweep, each on a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/crash/sweep_worker.h"

namespace signalbox::test {

class SweepWorkers {
 public:
  // The first four start runs with jobs, as many as the plan says.
  SweepWorkers(std::size_t count, std::uint64_t seed, const SweepWorker::Plan& plan,
               SweepRecord& record) {
    for (std::size_t number = 0; number < count; ++number) {
      SweepWorker::Plan own = plan;
      if (number >= 4) own.process_runs_max = 0;
      threads_.emplace_back([this, number, seed, own, &record] {
        SweepWorker(number, seed, own, record).run(stop_);
      });
    }
  }
  // Every command is answered when this returns, if a server is there.
  void finish() {
    stop_ = true;
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
  }
  ~SweepWorkers() { finish(); }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace signalbox::test
