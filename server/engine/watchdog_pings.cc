#include "server/engine/watchdog_pings.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

// sd_watchdog_enabled(3) recommends half; a busy commit thread answers a while later.
constexpr std::int64_t pings_an_interval = 3;

}  // namespace

WatchdogPings::WatchdogPings(boost::asio::io_context& io)
    : io_(io), timer_(io), interval_us_(watchdog_interval_us()) {}

void WatchdogPings::start(CommitThread& committer, std::function<std::string()> status) {
  if (!interval_us_) return;
  committer_ = &committer;
  status_ = std::move(status);
  ask();
}

void WatchdogPings::stop() {
  committer_ = nullptr;
  timer_.cancel();
}

void WatchdogPings::wait() {
  timer_.expires_after(std::chrono::microseconds(*interval_us_ / pings_an_interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) ask();
  });
}

// One question at a time: where no answer comes, nothing more is asked or said.
void WatchdogPings::ask() {
  if (committer_ == nullptr) return;
  committer_->probe([this] {
    boost::asio::post(io_, [this] {
      if (committer_ == nullptr) return;
      notify_alive();
      tell_status(status_());
      wait();
    });
  });
}

}  // namespace signalbox
