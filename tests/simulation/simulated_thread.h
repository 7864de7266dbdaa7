// A thread of a simulated process that may block, as those of a cell do. Only one thread runs at a
// time: this one runs while the schedule lets it, and gives the processor back whenever it waits,
// so the same seed does the same.
#pragma once

#include <cstdint>
#include <functional>
#include <semaphore>
#include <thread>

#include "store/waiter.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class SimulatedThread {
 public:
  // What it does belongs to `owner`, a life of a server.
  SimulatedThread(Environment& environment, Owner owner)
      : environment_(environment), owner_(owner) {}
  SimulatedThread(const SimulatedThread&) = delete;
  SimulatedThread& operator=(const SimulatedThread&) = delete;
  // Calls kill().
  ~SimulatedThread();

  // Has `body` begin soon.
  void start(std::function<void()> body);
  // Ends the body where it waits, as the end of its process does.
  void kill();

  // For the body: lets `ns` pass.
  void sleep(std::int64_t ns);
  // The same, but wake() ends it; one that came before ends it at once.
  void wait(std::int64_t ns);
  void wake();

  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  struct Killed {};

  // Lets the body run until it waits.
  void resume();
  void resume_after(std::int64_t ns);
  // Of the body: gives the processor away until resume().
  void yield();

  Environment& environment_;
  const Owner owner_;
  std::thread thread_;
  std::binary_semaphore body_runs_{0};
  std::binary_semaphore body_waits_{0};
  std::uint64_t turn_ = 0;  // a planned resume() with an earlier number is void
  bool is_waiting_ = false;
  bool is_awake_ = false;
  bool is_killed_ = false;
  bool has_ended_ = true;
};

// What code of the service waits with on such a thread.
class SimulatedWaiter final : public Waiter {
 public:
  SimulatedWaiter(const Environment& environment, SimulatedThread& thread)
      : environment_(environment), thread_(thread) {}

  [[nodiscard]] std::int64_t monotonic_ns() const override {
    return environment_.schedule.monotonic_ns();
  }
  [[nodiscard]] std::int64_t wall_ns() const override { return environment_.schedule.wall_ns(); }
  void wait(std::int64_t ns) override { thread_.wait(ns); }
  void wake() override { thread_.wake(); }

 private:
  const Environment& environment_;
  SimulatedThread& thread_;
};

}  // namespace signalbox::simulation
