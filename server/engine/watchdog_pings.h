// Tells the service manager that the service lives, while it really does: each word has gone
// through the engine's thread and the commit thread.
//
// So an engine that hangs, or a disk that doesn't come back from fsync, says nothing more, and
// after WatchdogSec the service manager ends the process and starts the next one. A thread of its
// own that says "alive" would say so for ever.
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

  // On the engine's thread. `status` is told with each word. Does nothing where none is expected.
  void start(CommitThread& committer, std::function<std::string()> status);
  void stop();

 private:
  void wait();
  void ask();

  boost::asio::io_context& io_;
  boost::asio::steady_timer timer_;
  const std::optional<std::int64_t> interval_us_;
  CommitThread* committer_ = nullptr;
  std::function<std::string()> status_;
};

}  // namespace signalbox
