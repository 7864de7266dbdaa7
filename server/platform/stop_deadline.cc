#include "server/platform/stop_deadline.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

namespace signalbox {

struct StopDeadline::State {
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io, SIGTERM, SIGINT};
  boost::asio::steady_timer timer{io};
  std::thread thread;
};

StopDeadline::StopDeadline(std::int64_t stop_ms, int exit_code, std::function<void()> on_exceeded)
    : state_(std::make_unique<State>()) {
  State* const state = state_.get();
  state->signals.async_wait([state, stop_ms, exit_code, on_exceeded = std::move(on_exceeded)](
                                const boost::system::error_code& error, int) {
    if (error) return;
    state->timer.expires_after(std::chrono::milliseconds(stop_ms));
    state->timer.async_wait([exit_code, on_exceeded](const boost::system::error_code& timer_error) {
      if (timer_error) return;
      on_exceeded();
      std::_Exit(exit_code);
    });
  });
  state->thread = std::thread([state] { state->io.run(); });
}

StopDeadline::~StopDeadline() {
  state_->io.stop();
  state_->thread.join();
}

}  // namespace signalbox
