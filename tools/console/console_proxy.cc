#include "tools/console/console_proxy.h"

#include <algorithm>
#include <utility>

#include <boost/asio/ip/address_v4.hpp>

#include "tools/console/console_source.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;

// A browser has six connections to a host. Others can only be strangers on this machine: the oldest
// whose request hasn't come makes room.
constexpr std::size_t proxied_requests_max = 64;

}  // namespace

Called<std::uint16_t> ConsoleProxy::listen(std::uint16_t port) {
  const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  boost::system::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return tl::unexpected(
        io_error("can't listen on 127.0.0.1:" + std::to_string(port) + ": " + error.message()));
  }
  return acceptor_.local_endpoint().port();
}

void ConsoleProxy::run() {
  signals_.async_wait([this](const boost::system::error_code&, int) { io_.stop(); });
  accept();
  io_.run();
  // No answer comes from another thread any more.
  if (settings_.source != nullptr) settings_.source->stop();
  boost::system::error_code ignored;
  signals_.clear(ignored);  // a second signal ends the process as usual
  // What is open ends with its sockets; nothing of it may run any more.
  for (const auto& each : std::exchange(open_, {})) each->close();
}

void ConsoleProxy::accept() {
  acceptor_.async_accept(
      [this](const boost::system::error_code& error, asio::ip::tcp::socket browser) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
          // As the server does: what it sends is passed on at once.
          boost::system::error_code ignored;
          browser.set_option(asio::ip::tcp::no_delay(true), ignored);
          begin(std::move(browser));
        }
        accept();
      });
}

void ConsoleProxy::begin(asio::ip::tcp::socket browser) {
  if (open_.size() >= proxied_requests_max) {
    const auto reading = std::find_if(open_.begin(), open_.end(),
                                      [](const auto& each) { return each->is_reading(); });
    if (reading == open_.end()) return;
    const auto oldest = *reading;
    oldest->close();
  }
  const auto request = std::make_shared<ProxiedRequest>(
      std::move(browser), settings_, first_,
      [this](const std::shared_ptr<ProxiedRequest>& ended) { open_.remove(ended); });
  open_.push_back(request);
  request->start();
}

}  // namespace signalbox
