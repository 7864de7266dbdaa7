#include "server/transport/http/http_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/write.hpp>

#include "server/limits.h"
#include "server/transport/http/content_coding.h"
#include "server/transport/http/http_exchange.h"
#include "server/transport/http/http_header.h"
#include "server/transport/http/problem.h"

namespace signalbox {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// After the last response, input is read and dropped for a while (lingering close). Closing with
// unread input would send a reset, which makes the peer's kernel discard the response.
constexpr std::int64_t linger_ms_max = 2000;
constexpr std::size_t linger_bytes_max = 8 * 1024 * 1024;
constexpr std::size_t drain_buffer_bytes = 16 * 1024;
constexpr std::size_t read_bytes = 4 * 1024;

// Time that an answer waits to be compressed; then it is sent as it is.
constexpr std::int64_t compression_ms_max = 1000;

}  // namespace

HttpSession::HttpSession(Socket socket, ConnectionOrigin origin, const HttpService& service,
                         Ended ended)
    : socket_(std::move(socket)),
      origin_(std::move(origin)),
      service_(service),
      ended_(std::move(ended)),
      deadline_(socket_.get_executor()),
      buffer_(2 * http_header_bytes_max + drain_buffer_bytes) {}

void HttpSession::start() {
  place().on_drop([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  wait_for_request();
}

bool HttpSession::identify(const std::string& actor) {
  const bool has_place = place().identify(actor);
  if (!has_place) keep_alive_ = false;
  return has_place;
}

void HttpSession::expect_within(std::int64_t ms, std::function<void()> late) {
  const std::uint64_t number = ++deadline_number_;
  deadline_.expires_after(std::chrono::milliseconds(ms));
  deadline_.async_wait([weak = weak_from_this(), number,
                        late = std::move(late)](const boost::system::error_code& stopped) {
    const auto self = weak.lock();
    if (self && !stopped && !self->closed_ && number == self->deadline_number_) late();
  });
}

void HttpSession::wait_for_request() {
  if (closed_) return;
  if (finishing_) return close();
  phase_ = Phase::idle;
  place().set_busy(false);
  if (buffer_.size() > 0) return read_header();
  expect_within(service_.idle_ms_max, [this] { close(); });
  socket_.async_wait(Socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (self->closed_) return;
                       if (error) return self->close();
                       self->read_header();
                     });
}

void HttpSession::read_header() {
  phase_ = Phase::reading;
  is_head_ = false;
  accepts_gzip_ = false;
  parser_.emplace();
  parser_->header_limit(http_header_bytes_max);
  parser_->body_limit(line_bytes_max);
  expect_within(service_.header_ms_max, [this] {
    keep_alive_ = false;
    respond(
        problem(408, {ErrorCode::INVALID_REQUEST, "the request's header took too long", {}, {}}));
  });
  header_scan_ = {};
  scan_header();
}

void HttpSession::scan_header() {
  const auto input = [this] {
    return std::string_view(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  };
  if (!header_scan_.has_begun()) buffer_.consume(empty_line_bytes(input()));
  if (const auto fault = header_scan_.scan(input())) return refuse_framing(*fault);
  const bool is_whole = header_scan_.header_bytes() > 0;
  if (std::max(header_scan_.header_bytes(), is_whole ? 0 : buffer_.size()) >
      http_header_bytes_max) {
    return on_bad_request(http::error::header_limit);
  }
  if (is_whole) {
    const auto fault = framing_fault(input().substr(0, header_scan_.header_bytes()));
    return fault ? refuse_framing(*fault) : parse_header();
  }
  socket_.async_read_some(
      buffer_.prepare(read_bytes),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        if (self->closed_ || self->phase_ != Phase::reading) return;
        if (error) return self->close();
        self->buffer_.commit(bytes);
        self->count_input();
        self->scan_header();
      });
}

void HttpSession::parse_header() {
  boost::system::error_code error;
  while (!error && !parser_->is_header_done()) {
    const std::size_t taken = parser_->put(buffer_.data(), error);
    buffer_.consume(taken);
    if (taken == 0 && !error) error = http::error::need_more;  // can't be: the header is whole
  }
  if (error) return on_bad_request(error);
  on_header();
}

void HttpSession::refuse_framing(const FramingFault& fault) {
  keep_alive_ = false;
  respond(problem(fault.status, {ErrorCode::INVALID_REQUEST,
                                 fault.message,
                                 {},
                                 {"curl --unix-socket \"$SIGNALBOX_SOCKET\" "
                                  "http://signalbox/openapi.json"}}));
}

// Counts what is kept of a request until it is answered.
void HttpSession::count_input() {
  const std::size_t body_bytes = parser_ ? parser_->get().body().capacity() : 0;
  place().set_input(buffer_.capacity() + body_bytes);
}

void HttpSession::on_bad_request(const boost::system::error_code& error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::end_of_stream).category()) {
    return close();
  }
  keep_alive_ = false;
  respond(malformed_request(error));
}

// Refuses what can be refused before the body is read.
void HttpSession::on_header() {
  const HttpRequest& request = parser_->get();
  is_head_ = request.method() == http::verb::head;
  target_ = std::string(request.target());
  accepts_gzip_ = signalbox::accepts_gzip(list_field(request, http::field::accept_encoding));
  keep_alive_ = request.keep_alive();
  auto asked = validate_header(request, origin_, service_);
  if (!asked) {
    keep_alive_ = keep_alive_ && parser_->is_done();
    return respond(std::move(asked).error());
  }
  asked_ = std::move(*asked);
  if (const auto why = stranger_refusal(*this, *asked_, request)) {
    keep_alive_ = keep_alive_ && parser_->is_done();
    begin_answering();
    return refuse_stranger(shared_from_this(), *asked_, *why);
  }
  header_.reset();
  if (parser_->chunked()) header_ = request.base();
  // HTTP/1.0 has no interim responses: such a client would take one for the answer.
  const bool expects_continue =
      request.version() >= 11 &&
      http::token_list(request[http::field::expect]).exists("100-continue");
  if (!expects_continue || parser_->is_done()) {
    return read_body();
  }
  static constexpr std::string_view continue_response = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(
      socket_, asio::buffer(continue_response),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (self->closed_) return;
        if (error) return self->close();
        self->read_body();
      });
}

void HttpSession::read_body() {
  expect_within(service_.body_ms_max, [this] {
    keep_alive_ = false;
    respond(problem(408, {ErrorCode::INVALID_REQUEST, "the request's body took too long", {}, {}}));
  });
  parser_->eager(true);
  read_some_body();
}

void HttpSession::read_some_body() {
  if (parser_->is_done()) return on_body();
  http::async_read_some(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (self->closed_ || self->phase_ != Phase::reading) return;
        if (error) return self->on_bad_request(error);
        self->count_input();
        self->read_some_body();
      });
}

void HttpSession::begin_answering() {
  phase_ = Phase::answering;
  ++deadline_number_;
  deadline_.cancel();
  place().set_busy(true);
}

void HttpSession::on_body() {
  begin_answering();
  HttpRequest request = parser_->release();
  // The parser adds the fields of a trailer to those of the header. But a trailer comes too late
  // for what it could say, and whoever looked at the header hasn't seen it (RFC 9110, 6.5.1).
  if (header_) request.base() = std::move(*header_);
  answer_request(shared_from_this(), *asked_, request);
}

void HttpSession::respond(HttpAnswer answer) {
  if (answer.status == 307) {  // another server of the cell, where the same is asked
    for (auto& [name, value] : answer.headers) {
      if (name == "Location") value += target_;
    }
  }
  if (is_compressible(answer)) {
    answer.headers.emplace_back("Vary", "Accept-Encoding");
    if (accepts_gzip_) return compress(std::move(answer));
  }
  send_whole(std::move(answer));
}

// One answer at a time, so that compression never takes more than one processor, in a pool of its
// own: neither waits for a slow disk, nor such a disk for answers. With too many answers before it,
// one is sent as it is.
void HttpSession::compress(HttpAnswer answer) {
  if (closed_) return;
  begin_answering();
  place().set_output(answer.body.size(), false);
  const auto kept = std::make_shared<HttpAnswer>(std::move(answer));
  service_.compression.run(
      {.name = "compression of answers",
       .deadline_ms = compression_ms_max,
       .failed = [self = shared_from_this(), kept](LaneFailure) { self->send_whole(*kept); }},
      [self = shared_from_this(), kept]() -> std::function<void()> {
        const auto packed =
            std::make_shared<std::optional<std::string>>(gzip_text(std::as_const(*kept).body));
        return [self, kept, packed] {
          if (*packed) {
            kept->body = std::move(**packed);
            kept->headers.emplace_back("Content-Encoding", "gzip");
          }
          self->send_whole(std::move(*kept));
        };
      });
}

void HttpSession::send_whole(HttpAnswer answer) {
  write(std::move(answer), std::nullopt, [this] { done(); });
}

void HttpSession::begin_body(const HttpAnswer& answer, std::uint64_t body_bytes,
                             std::function<void()> sent) {
  write(answer, body_bytes, std::move(sent));
}

void HttpSession::write(HttpAnswer answer, std::optional<std::uint64_t> body_bytes,
                        std::function<void()> sent) {
  if (closed_) return;
  phase_ = Phase::answering;
  keep_alive_ = keep_alive_ && !answer.close && !finishing_;
  const auto bytes = std::make_shared<std::string>(header_text(answer, body_bytes, keep_alive_));
  if (!is_head_) *bytes += answer.body;
  send(*bytes, [bytes, sent = std::move(sent)] { sent(); });
}

void HttpSession::send(std::string_view bytes, std::function<void()> sent) {
  if (closed_) return;
  expect_within(service_.write_ms_max, [this] { close(); });
  place().set_output(bytes.size(), false);
  asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                    [self = shared_from_this(), sent = std::move(sent)](
                        const boost::system::error_code& error, std::size_t) {
                      if (self->closed_) return;
                      if (error) return self->close();
                      self->place().set_output(0, false);
                      sent();
                    });
}

void HttpSession::done() {
  streaming_.reset();
  place().renew();
  // While lingering, keep the parser: a read that timed out may still use it.
  if (!keep_alive_) return linger();
  parser_.reset();
  place().set_input(0);
  wait_for_request();
}

void HttpSession::linger() {
  phase_ = Phase::lingering;
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  drain_buffer_.resize(drain_buffer_bytes);
  expect_within(linger_ms_max, [this] { close(); });
  drain();
}

void HttpSession::drain() {
  socket_.async_read_some(
      asio::buffer(drain_buffer_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        if (self->closed_) return;
        self->drained_bytes_ += bytes;
        if (error || self->finishing_ || self->drained_bytes_ > linger_bytes_max) {
          return self->close();
        }
        self->drain();
      });
}

void HttpSession::attach(std::shared_ptr<StreamingResponse> streaming) {
  streaming_ = std::move(streaming);
}

// After a half-close the peer still reads, but a peer that is gone must get no claim and no event.
void HttpSession::watch_for_hang_up() {
  if (closed_ || watching_for_hang_up_ || phase_ != Phase::answering) return;
  if (has_hung_up(socket_.native_handle())) return close();
  watching_for_hang_up_ = true;
  socket_.async_wait(Socket::wait_error,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->watching_for_hang_up_ = false;
                       if (!error) self->watch_for_hang_up();
                     });
}

void HttpSession::finish() {
  finishing_ = true;
  if (phase_ == Phase::idle) return close();
  if (const auto streaming = streaming_) streaming->on_end();
}

void HttpSession::close() {
  if (std::exchange(closed_, true)) return;
  boost::system::error_code ignored;
  deadline_.cancel();
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  if (const auto streaming = std::exchange(streaming_, nullptr)) streaming->on_end();
  place().leave();
  ended_(shared_from_this());
}

}  // namespace signalbox
