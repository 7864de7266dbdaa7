// Sends keep-alive pings to the service manager (systemd's WATCHDOG=1, sd_notify(3)). A ping is
// sent only after a probe has passed the engine thread and the commit thread.
//
// So pings stop when the engine hangs or the disk doesn't return from fsync; after WatchdogSec the
// service manager ends the process and starts it again. A separate ping thread would hide a hang.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/engine/committer.h"

namespace signalbox {

class WatchdogPings {
 public:
  explicit WatchdogPings(boost::asio::io_context& io);

  // Starts the pings; each one also sends the text of `status`, which is called on the engine
  // thread. While `is_waiting` returns true the commit thread is known to wait for another machine,
  // which a restart wouldn't mend: it isn't probed then. Does nothing if the service manager
  // expects no pings. Called on the engine thread.
  void start(CommitThread& committer, std::function<std::string()> status,
             std::function<bool()> is_waiting);
  // Stops the pings. Called before the committer is destroyed.
  void stop();

 private:
  void wait();
  void probe();
  void ping();

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  const std::optional<std::int64_t> interval_us_;
  CommitThread* committer_ = nullptr;
  std::function<std::string()> status_;
  std::function<bool()> is_waiting_;
  bool is_probing_ = false;
};

}  // namespace signalbox
