// One request of a browser, passed on to the server: checked, given the server's token instead of
// the browser's, and its response copied back as it comes. A connection serves one request, so no
// response has to be understood, and a stream of events is copied like any other.
//
// Called on one thread, that of the io_context.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/transport/http/http_answer.h"
#include "tools/cli/server_address.h"
#include "tools/cli/tls_session.h"

namespace signalbox {

class ConsoleSource;
class ConsoleToken;

struct ConsoleProxySettings {
  ServerAddress server;             // with the token that requests are passed on with, if any
  ConsoleSource* source = nullptr;  // answers in the place of a server; or none
  std::string secret;               // that the browser has to show
  std::optional<TlsTrust> trust;    // of endpoints with TLS
  ConsoleToken* token = nullptr;    // whose secret takes the place of the address's; or none
};

class ProxiedRequest : public std::enable_shared_from_this<ProxiedRequest> {
 public:
  using Ended = std::function<void(const std::shared_ptr<ProxiedRequest>&)>;

  // `first` is the number of the endpoint that took the last request: the next one tries it first.
  ProxiedRequest(boost::asio::ip::tcp::socket browser, const ConsoleProxySettings& settings,
                 std::size_t& first, Ended ended);

  void start();
  void close();
  // Returns true until the whole request has come and was passed on.
  [[nodiscard]] bool is_reading() const { return is_reading_; }

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;

  void on_request();
  void pass_on();
  // Connects to the next endpoint that hasn't been tried, or refuses the request.
  void connect_next();
  void shake_hands(const Endpoint& endpoint);
  [[nodiscard]] CallError handshake_error(const Endpoint& endpoint,
                                          const boost::system::error_code& error) const;
  void write_request();
  void read_response();
  [[nodiscard]] std::size_t endpoint_number() const;
  // Notes why the endpoint didn't take the request, and tries the next one.
  void fail_over(CallError failure);
  void write_response(std::size_t bytes);
  // Closes the connection as soon as the browser does, or says something more.
  void watch_browser();
  // Answers from the log, in the place of a server.
  void answer_from(ConsoleSource& source);
  void send(const HttpAnswer& answer);
  void refuse(unsigned status, const std::string& code, const std::string& message,
              const std::string& next_command);

  boost::asio::ip::tcp::socket browser_;
  using ServerSocket = boost::asio::generic::stream_protocol::socket;

  ServerSocket server_;
  CertificateFault certificate_fault_;                          // outlives tls_
  std::optional<boost::asio::ssl::stream<ServerSocket&>> tls_;  // over server_, or none
  boost::asio::steady_timer deadline_;  // of the request, then of the handshake
  const ConsoleProxySettings& settings_;
  std::size_t& first_;
  std::size_t begin_ = 0;            // the endpoint that is tried first
  std::vector<CallError> failures_;  // one for each endpoint that was tried
  Ended ended_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  Request request_;
  std::string answer_;  // of the proxy itself
  std::array<char, 64 * 1024> response_{};
  std::array<char, 1> more_{};
  const std::shared_ptr<std::atomic<bool>> unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_reading_ = true;
  bool is_closed_ = false;
};

}  // namespace signalbox
