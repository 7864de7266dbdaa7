#include "server/transport/protocol_detector.h"

#include <sys/socket.h>

#include <chrono>
#include <utility>

namespace signalbox {

namespace asio = boost::asio;

Protocol protocol_of(char first_byte) {
  constexpr char tls_handshake = 0x16;
  if (first_byte == tls_handshake) return Protocol::tls;
  const bool is_letter =
      (first_byte >= 'A' && first_byte <= 'Z') || (first_byte >= 'a' && first_byte <= 'z');
  return is_letter ? Protocol::http : Protocol::lines;
}

ProtocolDetector::ProtocolDetector(Socket socket, std::int64_t patience_ms,
                                   std::shared_ptr<Admission::Place> place, Decided decided,
                                   Ended ended)
    : socket_(std::move(socket)),
      patience_ms_(patience_ms),
      place_(std::move(place)),
      decided_(std::move(decided)),
      ended_(std::move(ended)),
      timer_(socket_.get_executor()) {}

void ProtocolDetector::start() {
  boost::system::error_code error;
  socket_.non_blocking(true, error);
  place_->on_drop([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
  if (patience_ms_ > 0) {
    timer_.expires_after(std::chrono::milliseconds(patience_ms_));
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
      if (const auto self = weak.lock(); self && !stopped) self->close();
    });
  }
  detect();
}

void ProtocolDetector::detect() {
  char first_byte = 0;
  ssize_t bytes = 0;
  while (true) {
    bytes = ::recv(socket_.native_handle(), &first_byte, 1, MSG_PEEK | MSG_DONTWAIT);
    const bool is_break = first_byte == '\n' || (first_byte == '\r' && !after_cr_);
    if (bytes <= 0 || !is_break || empty_bytes_ == empty_lines_bytes_max) break;
    (void)::recv(socket_.native_handle(), &first_byte, 1, MSG_DONTWAIT);
    after_cr_ = first_byte == '\r';
    ++empty_bytes_;
  }
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    socket_.async_wait(Socket::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (self->done_) return;
                         if (error) return self->close();
                         self->detect();
                       });
    return;
  }
  if (bytes <= 0) return close();  // closed by the peer before its first byte
  done_ = true;
  timer_.cancel();
  const auto self = shared_from_this();
  ended_(self);
  // A CR without LF is no empty line, so what follows it is no request of HTTP either.
  decided_(after_cr_ ? Protocol::lines : protocol_of(first_byte), std::move(socket_));
}

void ProtocolDetector::close() {
  if (std::exchange(done_, true)) return;
  boost::system::error_code ignored;
  timer_.cancel();
  socket_.close(ignored);
  place_->leave();
  ended_(shared_from_this());
}

}  // namespace signalbox
