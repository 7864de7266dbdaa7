// A TCP connection of a client that keeps to no protocol.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "tests/fixtures/connected_socket.h"

namespace signalbox::test {

// A TCP connection that sends raw bytes.
class RawConnection {
 public:
  // `receive_bytes` as for connected_socket().
  explicit RawConnection(std::uint16_t port, int receive_bytes = 0)
      : socket_(connected_socket(port, receive_bytes)) {}

  [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
  // Sends as much as the server takes. Returns false if that isn't all.
  bool send(std::string_view bytes) { return send_all(socket_, bytes); }
  // Nothing more is sent, but what comes is still read.
  void end_output() { ::shutdown(socket_.get(), SHUT_WR); }
  // Returns what comes up to the end of a line, or of the connection, or of patience.
  std::string line() {
    std::string text;
    char bytes[64 * 1024];
    for (;;) {
      // What follows the line stays with the kernel.
      const ssize_t seen = ::recv(socket_.get(), bytes, sizeof bytes, MSG_PEEK);
      if (seen <= 0) return text;
      const std::string_view next(bytes, static_cast<std::size_t>(seen));
      const std::size_t length = next.find('\n');
      const bool is_end = length != std::string_view::npos;
      text += next.substr(0, length);
      ::recv(socket_.get(), bytes, is_end ? length + 1 : next.size(), 0);
      if (is_end) return text;
    }
  }
  // Returns true if the server has closed the connection. Drops what it sent before. Doesn't block.
  bool is_closed() {
    char bytes[4096];
    ssize_t received = 0;
    while ((received = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  FileDescriptor socket_;
};

}  // namespace signalbox::test
