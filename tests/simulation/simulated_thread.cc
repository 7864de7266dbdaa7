#include "tests/simulation/simulated_thread.h"

#include <exception>
#include <utility>

namespace signalbox::simulation {

SimulatedThread::~SimulatedThread() { kill(); }

void SimulatedThread::start(std::function<void()> body) {
  has_ended_ = false;
  thread_ = std::thread([this, body = std::move(body)] {
    body_runs_.acquire();
    try {
      if (!is_killed_) body();
    } catch (const Killed&) {
    }
    has_ended_ = true;
    body_waits_.release();
  });
  resume_after(0);
}

void SimulatedThread::kill() {
  if (!thread_.joinable()) return;
  is_killed_ = true;
  ++turn_;
  if (!has_ended_) resume();
  thread_.join();
}

void SimulatedThread::resume() {
  body_runs_.release();
  body_waits_.acquire();
}

void SimulatedThread::resume_after(std::int64_t ns) {
  environment_.schedule.after(ns, owner_, [this, turn = ++turn_] {
    if (turn == turn_ && !has_ended_) resume();
  });
}

void SimulatedThread::yield() {
  body_waits_.release();
  body_runs_.acquire();
  if (is_killed_) throw Killed{};
}

void SimulatedThread::sleep(std::int64_t ns) {
  // What is destroyed while the body ends doesn't wait any more.
  if (is_killed_ && std::uncaught_exceptions() > 0) return;
  if (is_killed_) throw Killed{};
  resume_after(ns);
  yield();
}

void SimulatedThread::wait(std::int64_t ns) {
  if (std::exchange(is_awake_, false)) return;
  is_waiting_ = true;
  sleep(ns);
  is_waiting_ = false;
}

void SimulatedThread::wake() {
  if (!is_waiting_) {
    is_awake_ = true;
    return;
  }
  is_waiting_ = false;
  resume_after(0);
}

}  // namespace signalbox::simulation
