#include "server/platform/stop_deadline.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

namespace signalbox {

// All but `io` is used on the thread only.
struct StopDeadline::State {
  // Starts the timer, unless it is started.
  void begin();

  std::int64_t stop_ms = 0;
  int exit_code = 0;
  std::function<void()> on_exceeded;
  bool begun = false;
  bool has_failed = false;  // exit_code is that of a failure
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io, SIGTERM, SIGINT};
  boost::asio::steady_timer timer{io};
  std::thread thread;
};

void StopDeadline::State::begin() {
  if (std::exchange(begun, true)) return;
  timer.expires_after(std::chrono::milliseconds(stop_ms));
  timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    on_exceeded();
    std::_Exit(exit_code);
  });
}

StopDeadline::StopDeadline(std::int64_t stop_ms, int exit_code, std::function<void()> on_exceeded)
    : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->stop_ms = stop_ms;
  state->exit_code = exit_code;
  state->on_exceeded = std::move(on_exceeded);
  state->signals.async_wait([state](const boost::system::error_code& error, int) {
    if (!error) state->begin();
  });
  state->thread = std::thread([state] { state->io.run(); });
}

void StopDeadline::begin(int exit_code) {
  boost::asio::post(state_->io, [state = state_.get(), exit_code] {
    if (!std::exchange(state->has_failed, true)) state->exit_code = exit_code;
    state->begin();
  });
}

StopDeadline::~StopDeadline() {
  state_->io.stop();
  state_->thread.join();
}

}  // namespace signalbox
