// Serves the console on a loopback address for one user's browser, and passes its requests on to
// the server, over its Unix socket, TCP or TLS. The kernel doesn't say whose process connects to a
// loopback address, so every request that the server wouldn't answer for anybody has to show the
// secret of this proxy. The server's own token never leaves the process.
#pragma once

#include <csignal>
#include <cstdint>
#include <list>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>

#include "tools/cli/call_error.h"
#include "tools/console/proxied_request.h"

namespace signalbox {

class ConsoleProxy {
 public:
  explicit ConsoleProxy(ConsoleProxySettings settings)
      : settings_(std::move(settings)), acceptor_(io_) {}
  ConsoleProxy(const ConsoleProxy&) = delete;
  ConsoleProxy& operator=(const ConsoleProxy&) = delete;

  // Listens on 127.0.0.1. Returns the port: `port`, or a free one if that is 0.
  Called<std::uint16_t> listen(std::uint16_t port);
  // Passes requests on until SIGINT or SIGTERM, also one that came since this object exists.
  // Blocks.
  void run();

 private:
  void accept();
  void begin(boost::asio::ip::tcp::socket browser);

  const ConsoleProxySettings settings_;
  std::size_t first_ = 0;  // the endpoint of the server that took the last request
  boost::asio::io_context io_{1};
  boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::list<std::shared_ptr<ProxiedRequest>> open_;  // the oldest first
};

}  // namespace signalbox
