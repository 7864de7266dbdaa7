#include "tools/console/proxied_request.h"

#include <chrono>
#include <string_view>
#include <utility>

#include <openssl/crypto.h>
#include <sys/socket.h>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "server/limits.h"
#include "server/text/ascii_case.h"
#include "server/transport/http/host_rule.h"
#include "tools/cli/server_connection.h"
#include "tools/console/console_source.h"
#include "tools/console/console_token.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::chrono::seconds request_time{30};
constexpr std::chrono::milliseconds connect_time{5000};

std::string_view text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Returns true for the page and its files, which the server gives to anybody. On the Unix socket a
// request without a token is its owner's, so a path that could lead elsewhere is none of these.
bool is_for_anybody(http::verb verb, std::string_view target) {
  const bool is_get = verb == http::verb::get || verb == http::verb::head;
  const std::string_view path = target.substr(0, target.find('?'));
  const bool is_plain = path.find("..") == std::string_view::npos &&
                        path.find("//") == std::string_view::npos &&
                        path.find_first_of("%\\#") == std::string_view::npos;
  return is_get && is_plain && (path == "/" || path == "/console" || path.starts_with("/console/"));
}

// Compares the secret in a time that doesn't depend on how much is right.
bool is_bearer(std::string_view header, const std::string& secret) {
  constexpr std::string_view scheme = "bearer ";
  if (!is_same_but_for_case(header.substr(0, scheme.size()), scheme)) return false;
  const std::string_view shown = header.substr(scheme.size());
  return shown.size() == secret.size() &&
         CRYPTO_memcmp(shown.data(), secret.data(), secret.size()) == 0;
}

}  // namespace

ProxiedRequest::ProxiedRequest(asio::ip::tcp::socket browser, const ConsoleProxySettings& settings,
                               std::size_t& first, Ended ended)
    : browser_(std::move(browser)),
      server_(browser_.get_executor()),
      deadline_(browser_.get_executor()),
      settings_(settings),
      first_(first),
      ended_(std::move(ended)) {}

void ProxiedRequest::start() {
  parser_.emplace();
  parser_->header_limit(http_header_bytes_max);
  parser_->body_limit(line_bytes_max);
  deadline_.expires_after(request_time);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (self && !stopped) self->close();
  });
  http::async_read(
      browser_, buffer_, *parser_,
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (self->is_closed_) return;
        if (error) return self->close();
        self->on_request();
      });
}

void ProxiedRequest::on_request() {
  is_reading_ = false;
  deadline_.cancel();
  const bool is_chunked = parser_->chunked();
  request_ = parser_->release();
  if (is_chunked) {
    return refuse(411, "INVALID_REQUEST", "a body has a length", "signalbox console");
  }
  if (is_for_anybody(request_.method(), text_of(request_.target()))) {
    request_.erase(http::field::authorization);
    return pass_on();
  }
  const bool is_shown = request_.count(http::field::authorization) == 1;
  if (!is_shown || !is_bearer(text_of(request_[http::field::authorization]), settings_.secret)) {
    return refuse(401, "UNAUTHENTICATED",
                  "this console is for who started it: open the address that it printed",
                  "signalbox console");
  }
  request_.erase(http::field::authorization);
  const std::string secret =
      settings_.token != nullptr ? settings_.token->secret() : settings_.server.secret;
  if (!secret.empty()) request_.set(http::field::authorization, "Bearer " + secret);
  pass_on();
}

void ProxiedRequest::pass_on() {
  if (settings_.source != nullptr) return answer_from(*settings_.source);
  for (const auto field : {http::field::keep_alive, http::field::upgrade, http::field::te,
                           http::field::proxy_connection}) {
    request_.erase(field);
  }
  request_.keep_alive(false);
  begin_ = first_;
  connect_next();
}

std::size_t ProxiedRequest::endpoint_number() const {
  return (begin_ + failures_.size()) % settings_.server.endpoints.size();
}

void ProxiedRequest::connect_next() {
  const auto& endpoints = settings_.server.endpoints;
  if (failures_.size() == endpoints.size()) {
    const CallError failure = none_answered(std::move(failures_));
    const auto commands = next_commands_of(failure);
    return refuse(503, "UNREACHABLE", message_of(failure),
                  commands.empty() ? "signalbox status" : commands.front());
  }
  const Endpoint& endpoint = endpoints[endpoint_number()];
  auto connected = connect_socket(endpoint, !settings_.server.secret.empty(), connect_time);
  if (!connected) return fail_over(std::move(connected.error()));
  boost::system::error_code error;
  const int family = endpoint.is_unix() ? AF_UNIX : AF_INET;
  server_.assign(asio::generic::stream_protocol(family, 0), connected->get(), error);
  if (error) return close();
  (void)connected->release();  // the socket's now
  if (endpoint.is_tls) return shake_hands(endpoint);
  write_request();
  watch_browser();
}

void ProxiedRequest::fail_over(CallError failure) {
  boost::system::error_code ignored;
  deadline_.cancel();
  tls_.reset();
  server_.close(ignored);
  failures_.push_back(std::move(failure));
  connect_next();
}

void ProxiedRequest::shake_hands(const Endpoint& endpoint) {
  certificate_fault_ = {};
  auto session = settings_.trust->begin(endpoint, certificate_fault_);
  if (!session) return fail_over(std::move(session.error()));
  tls_.emplace(server_, session->release());
  deadline_.expires_after(connect_time);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    boost::system::error_code ignored;
    if (self && !stopped) self->server_.shutdown(ServerSocket::shutdown_both, ignored);
  });
  tls_->async_handshake(
      asio::ssl::stream_base::client,
      [self = shared_from_this(), &endpoint](const boost::system::error_code& error) {
        if (self->is_closed_) return;
        if (error) return self->fail_over(self->handshake_error(endpoint, error));
        self->deadline_.cancel();
        self->write_request();
        self->watch_browser();
      });
}

CallError ProxiedRequest::handshake_error(const Endpoint& endpoint,
                                          const boost::system::error_code& error) const {
  if (deadline_.expiry() <= std::chrono::steady_clock::now()) return handshake_timed_out(endpoint);
  if (error.category() != asio::error::get_ssl_category()) return handshake_ended(endpoint);
  return handshake_failure(endpoint, certificate_fault_, !settings_.server.ca.empty(),
                           static_cast<unsigned>(error.value()));
}

void ProxiedRequest::write_request() {
  first_ = endpoint_number();
  const std::string_view origin = text_of(request_[http::field::origin]);
  constexpr std::string_view unencrypted = "http://";
  // The page is of this proxy, and to the server it is one of its own, which have its scheme.
  if (tls_ && origin.starts_with(unencrypted)) {
    request_.set(http::field::origin, "https://" + std::string(origin.substr(unencrypted.size())));
  }
  const auto written = [self = shared_from_this()](const boost::system::error_code& error,
                                                   std::size_t) {
    if (self->is_closed_) return;
    if (error) return self->close();
    self->read_response();
  };
  if (tls_) return http::async_write(*tls_, request_, written);
  http::async_write(server_, request_, written);
}

void ProxiedRequest::read_response() {
  const auto read = [self = shared_from_this()](const boost::system::error_code& error,
                                                std::size_t bytes) {
    if (self->is_closed_) return;
    if (error) return self->close();
    self->write_response(bytes);
  };
  if (tls_) return tls_->async_read_some(asio::buffer(response_), read);
  server_.async_read_some(asio::buffer(response_), read);
}

void ProxiedRequest::write_response(std::size_t bytes) {
  asio::async_write(
      browser_, asio::buffer(response_.data(), bytes),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (self->is_closed_) return;
        if (error) return self->close();
        self->read_response();
      });
}

void ProxiedRequest::watch_browser() {
  browser_.async_read_some(asio::buffer(more_),
                           [self = shared_from_this()](const boost::system::error_code&,
                                                       std::size_t) { self->close(); });
}

void ProxiedRequest::refuse(unsigned status, const std::string& code, const std::string& message,
                            const std::string& next_command) {
  json::object problem;
  problem["type"] = "urn:signalbox:error:" + code;
  problem["title"] = http::obsolete_reason(http::int_to_status(status));
  problem["status"] = status;
  problem["detail"] = message;
  problem["code"] = code;
  problem["details"] = json::object();
  problem["next_commands"] = json::array{json::value(next_command)};
  HttpAnswer answer;
  answer.status = status;
  answer.media_type = "application/problem+json";
  answer.body = json::serialize(problem) + "\n";
  send(answer);
}

void ProxiedRequest::answer_from(ConsoleSource& source) {
  if (!HostRule().allows(text_of(request_[http::field::host]), true, "127.0.0.1")) {
    return refuse(421, "NOT_ALLOWED", "this console is at the address that it printed",
                  "signalbox console");
  }
  const auto field = [this](http::field name) { return text_of(request_[name]); };
  // An answer may come later, on another thread.
  const auto answered = [weak = weak_from_this(),
                         executor = browser_.get_executor()](HttpAnswer answer) {
    asio::dispatch(executor, [weak, answer = std::move(answer)]() mutable {
      const auto self = weak.lock();
      if (!self || self->is_closed_) return;
      if (self->request_.method() == http::verb::head) answer.body.clear();
      self->send(answer);
    });
  };
  source.answer({.verb = text_of(request_.method_string()),
                 .target = text_of(request_.target()),
                 .accept = field(http::field::accept),
                 .accept_encoding = field(http::field::accept_encoding),
                 .if_none_match = field(http::field::if_none_match),
                 .body = request_.body(),
                 .unwanted = unwanted_},
                answered);
  if (!is_closed_ && answer_.empty()) watch_browser();  // it comes later
}

void ProxiedRequest::send(const HttpAnswer& answer) {
  answer_ = "HTTP/1.1 " + std::to_string(answer.status) + " " +
            std::string(text_of(http::obsolete_reason(http::int_to_status(answer.status)))) +
            "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n";
  bool is_kept = false;
  for (const auto& [name, value] : answer.headers) {
    answer_ += name + ": " + value + "\r\n";
    is_kept = is_kept || name == "Cache-Control";
  }
  if (!is_kept) answer_ += "Cache-Control: no-store\r\n";
  if (!answer.media_type.empty()) answer_ += "Content-Type: " + answer.media_type + "\r\n";
  const bool has_body = answer.status != 204 && answer.status != 304;
  if (has_body) answer_ += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  answer_ += "\r\n" + answer.body;
  asio::async_write(browser_, asio::buffer(answer_),
                    [self = shared_from_this()](const boost::system::error_code&, std::size_t) {
                      self->close();
                    });
}

void ProxiedRequest::close() {
  if (std::exchange(is_closed_, true)) return;
  *unwanted_ = true;
  boost::system::error_code ignored;
  deadline_.cancel();
  browser_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  browser_.close(ignored);
  server_.close(ignored);
  ended_(shared_from_this());
}

}  // namespace signalbox
