#include "tools/cli/server_address.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace signalbox {
namespace {

constexpr std::string_view tcp_scheme = "tcp://";

void set_timeout(int file_descriptor, std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0) return;
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = timeout.count() % 1000 * 1000;
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

// Connects and returns 0, or the errno.
int connect_socket(int file_descriptor, const sockaddr* address, socklen_t size) {
  int result = 0;
  do {
    result = ::connect(file_descriptor, address, size);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

CallError connect_error(const ServerAddress& address, int error) {
  const std::string where = address.text();
  if (error == EAGAIN || error == EINPROGRESS) {
    return timed_out("the server at " + where + " accepts no connection");
  }
  if (address.is_unix() && (error == EACCES || error == EPERM)) {
    CallError denied = unreachable("not allowed to connect to " + where, {"ls -l " + where});
    denied.exit_code = ExitCode::not_allowed;
    return denied;
  }
  return unreachable("no server answers at " + where + ": " + std::strerror(error),
                     {address.start_command()});
}

Called<int> connect_unix(const ServerAddress& address, std::chrono::milliseconds timeout) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = address.socket.string();
  if (path.size() >= sizeof name.sun_path) {
    return tl::unexpected(usage_error("the path of the socket is too long for the kernel (" +
                                      std::to_string(sizeof name.sun_path - 1) +
                                      " bytes): " + path));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  const int file_descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file_descriptor < 0) return tl::unexpected(io_error(std::strerror(errno)));
  set_timeout(file_descriptor, timeout);
  const int error =
      connect_socket(file_descriptor, reinterpret_cast<sockaddr*>(&name), sizeof name);
  if (error == 0) return file_descriptor;
  ::close(file_descriptor);
  return tl::unexpected(connect_error(address, error));
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
  }
  sockaddr_in6 v6{};
  if (address->sa_family == AF_INET6) std::memcpy(&v6, address, sizeof v6);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

Called<int> connect_tcp(const ServerAddress& address, std::chrono::milliseconds timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &list);
  if (failed != 0) {
    return tl::unexpected(unreachable("can't find " + address.host + ": " + gai_strerror(failed),
                                      {"getent hosts " + address.host}));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> freed(list, ::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (!address.secret.empty() && !is_loopback(each->ai_addr)) {
      return tl::unexpected(usage_error(
          address.host + " is another machine, and an access token isn't sent there unencrypted",
          {"ssh -L " + address.port + ":127.0.0.1:" + address.port + " " + address.host}));
    }
    const int file_descriptor =
        ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
    if (file_descriptor < 0) return tl::unexpected(io_error(std::strerror(errno)));
    set_timeout(file_descriptor, timeout);
    error = connect_socket(file_descriptor, each->ai_addr, each->ai_addrlen);
    if (error == 0) {
      const int on = 1;  // a request is one line, and nothing follows it for a while
      ::setsockopt(file_descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return file_descriptor;
    }
    ::close(file_descriptor);
  }
  return tl::unexpected(connect_error(address, error));
}

}  // namespace

Called<ServerAddress> ServerAddress::parse_tcp(std::string_view text) {
  const auto wrong = [text] {
    return tl::unexpected(
        usage_error("--server is tcp://HOST:PORT, such as tcp://127.0.0.1:7070; "
                    "not " +
                    std::string(text)));
  };
  if (!text.starts_with(tcp_scheme)) return wrong();
  const std::string_view rest = text.substr(tcp_scheme.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rest.size()) return wrong();
  std::string_view host = rest.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();  // the port of an IPv6 address needs brackets before it
  }
  const std::string_view port = rest.substr(colon + 1);
  if (port.find_first_not_of("0123456789") != std::string_view::npos) return wrong();
  ServerAddress address;
  address.host = host;
  address.port = port;
  return address;
}

std::string ServerAddress::text() const {
  if (is_unix()) return socket.string();
  const bool v6 = host.find(':') != std::string::npos;
  return std::string(tcp_scheme) + (v6 ? "[" + host + "]" : host) + ":" + port;
}

std::string ServerAddress::start_command() const {
  if (!is_unix()) return "signalbox serve --listen " + text().substr(tcp_scheme.size());
  const std::string data = socket.parent_path().string();
  std::string command = "signalbox serve --data " + (data.empty() ? std::string(".") : data);
  if (socket.filename() != "signalbox.sock") command += " --socket " + socket.string();
  return command;
}

Called<int> connect_to(const ServerAddress& address, std::chrono::milliseconds timeout) {
  return address.is_unix() ? connect_unix(address, timeout) : connect_tcp(address, timeout);
}

}  // namespace signalbox
