// One connection that speaks HTTP/1.1: reads requests, one after the other, and writes answers.
// Requests that come early (pipelining) wait in the kernel and in the buffer; their order is the
// answers' order.
//
// Callbacks as in the session of lines. There is one deadline at a time: for the next request, for
// its header, its body, or for the peer to take the answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/transport/http/http_answer.h"
#include "server/transport/http/http_request.h"
#include "server/transport/http/http_service.h"
#include "server/transport/http/open_connection.h"

namespace signalbox {

class HttpSession final : public OpenConnection, public std::enable_shared_from_this<HttpSession> {
 public:
  // What has taken the connection over for the answer to one request.
  class StreamingResponse {
   public:
    virtual ~StreamingResponse() = default;
    // The server stops, or the connection is gone: closed() tells which.
    virtual void on_end() = 0;
  };

  HttpSession(Socket socket, ConnectionOrigin origin, const HttpService& service, Ended ended);

  void start() { wait_for_request(); }
  void finish() override;
  void close() override;

  // Answers the request under way, and goes on to the next one.
  void respond(HttpAnswer answer);
  // Sends the header of an answer whose body, of `body_bytes`, is sent by whoever asked: with
  // send(), and done() at its end.
  void begin_body(const HttpAnswer& answer, std::uint64_t body_bytes, std::function<void()> sent);
  // `bytes` live until `sent` is called, which it isn't if the connection goes.
  void send(std::string_view bytes, std::function<void()> sent);
  void done();
  // `streaming` lives until the connection is gone or another one comes.
  void attach(std::shared_ptr<StreamingResponse> streaming);
  // Closes the connection if the peer is gone, from now until the answer.
  void watch_for_hang_up();

  [[nodiscard]] Socket& socket() { return socket_; }
  [[nodiscard]] const HttpService& service() const { return service_; }
  [[nodiscard]] const ConnectionOrigin& origin() const { return origin_; }
  [[nodiscard]] bool is_head() const { return is_head_; }
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  enum class Phase { idle, reading, answering };

  void expect_within(std::int64_t ms, std::function<void()> late);
  void wait_for_request();
  void read_header();
  void on_header();
  void read_body();
  void on_bad_request(const boost::system::error_code& error);
  void write(HttpAnswer answer, std::optional<std::uint64_t> body_bytes,
             std::function<void()> sent);
  void linger();
  void drain();

  Socket socket_;
  const ConnectionOrigin origin_;
  const HttpService& service_;
  Ended ended_;
  boost::asio::steady_timer deadline_;
  std::uint64_t deadline_number_ = 0;  // an old one that fires late counts for nothing
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<AskedRoute> asked_;
  std::shared_ptr<StreamingResponse> streaming_;
  Phase phase_ = Phase::idle;
  bool is_head_ = false;
  bool keep_alive_ = true;  // after the request under way
  bool finishing_ = false;
  bool watching_for_hang_up_ = false;
  bool closed_ = false;
  std::size_t drained_bytes_ = 0;
  std::string drain_room_;
};

}  // namespace signalbox
