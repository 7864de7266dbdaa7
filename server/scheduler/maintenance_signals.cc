#include "server/scheduler/maintenance_signals.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

namespace signalbox {
namespace {

// Blocks or unblocks the signals on the calling thread.
void change_mask(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(how, &signals, nullptr);
}

}  // namespace

struct MaintenanceSignals::State {
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io, SIGTERM, SIGINT};
  std::thread thread;
};

MaintenanceSignals::MaintenanceSignals() : state_(std::make_unique<State>()) {}

MaintenanceSignals::~MaintenanceSignals() {
  state_->io.stop();
  if (!state_->thread.joinable()) return;
  state_->thread.join();
  change_mask(SIG_UNBLOCK);
}

void MaintenanceSignals::begin(std::function<void(const std::string& signal)> on_signal) {
  state_->signals.async_wait(
      [on_signal = std::move(on_signal)](const boost::system::error_code& error, int signal) {
        if (error) return;
        on_signal(strsignal(signal));
        std::_Exit(EXIT_SUCCESS);
      });
  state_->thread = std::thread([this] { state_->io.run(); });
  change_mask(SIG_BLOCK);
}

}  // namespace signalbox
