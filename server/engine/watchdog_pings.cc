#include "server/engine/watchdog_pings.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

// sd_watchdog_enabled(3) recommends two; a third leaves time for a busy commit thread.
constexpr std::int64_t pings_per_interval = 3;

}  // namespace

WatchdogPings::WatchdogPings(boost::asio::io_context& io)
    : io_(io), timer_(io), interval_us_(watchdog_interval_us()) {}

void WatchdogPings::start(CommitThread& committer, std::function<std::string()> status,
                          std::function<bool()> is_waiting) {
  if (!interval_us_) return;
  committer_ = &committer;
  status_ = std::move(status);
  is_waiting_ = std::move(is_waiting);
  probe();
}

void WatchdogPings::stop() {
  committer_ = nullptr;
  timer_.cancel();
}

void WatchdogPings::wait() {
  timer_.expires_after(std::chrono::microseconds(*interval_us_ / pings_per_interval));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) probe();
  });
}

// There is one probe at a time: if it doesn't return, no further probe or ping is sent, unless it
// is known what the commit thread waits for.
void WatchdogPings::probe() {
  if (committer_ == nullptr) return;
  wait();
  if (is_waiting_()) return ping();
  if (std::exchange(is_probing_, true)) return;
  committer_->probe([this] {
    boost::asio::post(io_, [this] {
      is_probing_ = false;
      ping();
    });
  });
}

void WatchdogPings::ping() {
  if (committer_ == nullptr) return;
  notify_alive();
  notify_status(status_());
}

}  // namespace signalbox
