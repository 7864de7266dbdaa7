// One HTTP/1.1 connection: reads requests one after the other and writes their responses. Pipelined
// requests wait in the kernel and in the buffer, so responses keep the order of the requests.
//
// It uses callbacks, as Session does. There is one deadline at a time: for the next request, for
// its header, for its body, or for the peer to read the response. All calls come from the engine
// thread.
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
#include "server/transport/http/request_framing.h"

namespace signalbox {

class HttpSession final : public OpenConnection, public std::enable_shared_from_this<HttpSession> {
 public:
  // A response that uses the connection until it is complete.
  class StreamingResponse {
   public:
    virtual ~StreamingResponse() = default;
    // Called when the server stops (closed() is false) or the connection has closed (closed()).
    virtual void on_end() = 0;
  };

  HttpSession(Socket socket, ConnectionOrigin origin, const HttpService& service, Ended ended);

  void start();
  void finish() override;
  [[nodiscard]] bool is_answering() const override {
    return !closed_ && phase_ == Phase::answering;
  }
  void close() override;

  // Sends the whole response to the current request, compressed if that is asked for, then reads
  // the next request.
  void respond(HttpAnswer answer);
  // Sends the header of a response with a body of `body_bytes`, then calls `sent`. The caller sends
  // the body with send() and ends the response with done().
  void begin_body(const HttpAnswer& answer, std::uint64_t body_bytes, std::function<void()> sent);
  // Sends part of a body. The caller keeps `bytes` alive until `sent` is called; it isn't called if
  // the connection closes.
  void send(std::string_view bytes, std::function<void()> sent);
  void done();
  // Keeps `streaming` alive until its response is done, or the connection closes.
  void attach(std::shared_ptr<StreamingResponse> streaming);
  // Closes the connection if the peer disconnects before the response begins.
  void watch_for_hang_up();

  [[nodiscard]] Socket& socket() { return socket_; }
  [[nodiscard]] const HttpService& service() const { return service_; }
  [[nodiscard]] const ConnectionOrigin& origin() const { return origin_; }
  [[nodiscard]] Admission::Place& place() const { return *origin_.place; }
  // As Peer::identify().
  bool identify(const std::string& actor);
  [[nodiscard]] bool is_head() const { return is_head_; }
  [[nodiscard]] bool accepts_gzip() const { return accepts_gzip_; }
  [[nodiscard]] bool closed() const { return closed_; }
  // As Peer::has_gone().
  [[nodiscard]] bool has_gone(bool counts_end_of_output) {
    return closed_ || has_hung_up(socket_.native_handle(), origin_.is_tcp && counts_end_of_output);
  }

 private:
  enum class Phase { idle, reading, answering, lingering };

  // Sets the deadline: calls `late` after `ms`, unless another deadline replaces this one.
  void expect_within(std::int64_t ms, std::function<void()> late);
  void wait_for_request();
  void read_header();
  // Reads until the buffer has a whole header whose framing is unambiguous, then parses it.
  void scan_header();
  void parse_header();
  void on_header();
  void read_body();
  void read_some_body();
  void on_body();
  // Ends reading: the request is handled from now on, without a deadline.
  void begin_answering();
  void refuse_framing(const FramingFault& fault);
  void count_input();
  void on_bad_request(const boost::system::error_code& error);
  void compress(HttpAnswer answer);
  void send_whole(HttpAnswer answer);
  void write(HttpAnswer answer, std::optional<std::uint64_t> body_bytes,
             std::function<void()> sent);
  void linger();
  void drain();

  Socket socket_;
  const ConnectionOrigin origin_;
  const HttpService& service_;
  Ended ended_;
  boost::asio::steady_timer deadline_;
  std::uint64_t deadline_number_ = 0;  // so that a replaced deadline that still fires is ignored
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  HeaderScan header_scan_;
  std::optional<RequestedRoute> asked_;
  std::optional<HttpRequest::header_type> header_;  // of a request that may have a trailer
  std::shared_ptr<StreamingResponse> streaming_;
  Phase phase_ = Phase::idle;
  bool is_head_ = false;
  bool accepts_gzip_ = false;
  std::string target_;      // of the request
  bool keep_alive_ = true;  // keep the connection after the current request
  bool finishing_ = false;
  bool watching_for_hang_up_ = false;
  bool closed_ = false;
  std::size_t drained_bytes_ = 0;
  std::string drain_buffer_;
};

}  // namespace signalbox
