// The threads of the simulated service beside the engine's: each has a pace of its own.
#include <algorithm>
#include <utility>

#include "tests/simulation/simulated_server.h"

namespace signalbox::simulation {

// Runs work on a thread with a pace of its own, and `then` on the engine's. What `work` found in
// run roots is what `then` decides by.
BlockingPool SimulatedServer::blocking_pool() {
  return {[this](std::function<void()> work) {
            environment_.schedule.after(environment_.random.between(0, 2000) * ns_per_us, owner_,
                                        std::move(work));
          },
          [this](std::function<void()> then) {
            environment_.schedule.after(
                environment_.random.between(0, 1000) * ns_per_us, owner_,
                [this, then = std::move(then), sight = files_.take_observation()] {
                  check_clocks();
                  files_.decide_by(sight);
                  then();
                  files_.decide_by(std::nullopt);
                });
          }};
}

// Threads that read for those who only read. They leave no trace in what the others do.
BlockingPool SimulatedServer::reading_pool() {
  const auto within_us = [this](std::int64_t most_us, std::function<void()> action) {
    environment_.reading.after(environment_.reading_random.between(0, most_us) * ns_per_us, owner_,
                               std::move(action));
  };
  return {[within_us](std::function<void()> work) { within_us(2000, std::move(work)); },
          [within_us](std::function<void()> then) { within_us(1000, std::move(then)); }};
}

// Runs work on one thread, in order, and `then` on the engine's.
BlockingPool SimulatedServer::board_files_pool() {
  return {[this](std::function<void()> work) {
            const std::int64_t now_ns = environment_.schedule.monotonic_ns();
            board_files_busy_until_ns_ =
                std::max(board_files_busy_until_ns_, now_ns) + repositories_->duration_ns();
            environment_.schedule.after(board_files_busy_until_ns_ - now_ns, owner_,
                                        std::move(work));
          },
          [this](std::function<void()> then) {
            post([this, then = std::move(then)] {
              check_clocks();
              if (!stopping_) then();
            });
          }};
}

BlockingPool SimulatedServer::retention_pool() {
  return rewriting_pool([this] { return disk_.retention().duration_ns(); });
}

BlockingPool SimulatedServer::redaction_pool() {
  return rewriting_pool([this] { return disk_.redactions().duration_ns(); });
}

BlockingPool SimulatedServer::rewriting_pool(std::function<std::int64_t()> duration_ns) {
  const auto later = [this, duration_ns = std::move(duration_ns)](std::function<void()> action) {
    environment_.schedule.after(duration_ns(), owner_, std::move(action));
  };
  return {[later](std::function<void()> work) { later(std::move(work)); },
          [this, later](std::function<void()> then) {
            later([this, then = std::move(then)] {
              check_clocks();
              then();
            });
          }};
}

}  // namespace signalbox::simulation
