#include "server/platform/stop_signals.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace signalbox {

StopSignals::StopSignals(std::function<void()> stop) : signals_(io_, SIGTERM, SIGINT) {
  signals_.async_wait(
      [this, stop = std::move(stop)](const boost::system::error_code& error, int signal) {
        if (error) return;
        {
          const std::lock_guard lock(mutex_);
          received_ = strsignal(signal);
        }
        changed_.notify_all();
        stop();
      });
  thread_ = std::thread([this] { io_.run(); });
}

StopSignals::~StopSignals() {
  io_.stop();
  thread_.join();
}

bool StopSignals::wait(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::milliseconds(ms),
                            [this] { return !received_.empty(); });
}

std::string StopSignals::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

}  // namespace signalbox
