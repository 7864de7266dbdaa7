// A TCP connection of a client that keeps to no protocol.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace signalbox::test {

// A TCP connection that sends raw bytes.
class RawConnection {
 public:
  // With `receive_bytes`, the kernel takes little more than that before the connection reads.
  explicit RawConnection(std::uint16_t port, int receive_bytes = 0)
      : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{30, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_bytes > 0) {
      ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
  }
  RawConnection(RawConnection&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RawConnection& operator=(RawConnection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~RawConnection() { close(); }

  [[nodiscard]] bool connected() const { return descriptor_ >= 0; }
  // Sends as much as the server takes. Returns false if that isn't all.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Nothing more is sent, but what comes is still read.
  void end_output() { ::shutdown(descriptor_, SHUT_WR); }
  // Returns what comes up to the end of a line, or of the connection, or of patience.
  std::string line() {
    std::string text;
    char bytes[64 * 1024];
    for (;;) {
      // What follows the line stays with the kernel.
      const ssize_t seen = ::recv(descriptor_, bytes, sizeof bytes, MSG_PEEK);
      if (seen <= 0) return text;
      const std::string_view next(bytes, static_cast<std::size_t>(seen));
      const std::size_t length = next.find('\n');
      const bool is_end = length != std::string_view::npos;
      text += next.substr(0, length);
      ::recv(descriptor_, bytes, is_end ? length + 1 : next.size(), 0);
      if (is_end) return text;
    }
  }
  // Returns true if the server has closed the connection. Drops what it sent before. Doesn't block.
  bool is_closed() {
    char bytes[4096];
    ssize_t received = 0;
    while ((received = ::recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    return received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  int descriptor_;
};

}  // namespace signalbox::test
