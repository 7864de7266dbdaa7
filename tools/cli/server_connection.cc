#include "tools/cli/server_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "domain/try.h"

namespace signalbox {
namespace {

using std::chrono::milliseconds;
using SteadyPoint = std::chrono::steady_clock::time_point;

constexpr std::size_t transferred_bytes = 16 * 1024;
// A server whose machine vanished without a word is noticed within half a minute, so that what
// follows it connects again.
constexpr int keepalive_idle_s = 15;
constexpr int keepalive_interval_s = 5;
constexpr int keepalive_probes = 3;
constexpr unsigned unacknowledged_ms_max = 30'000;

// Sets the time that each send and receive may take; 0: any.
void set_timeout(int file_descriptor, milliseconds timeout) {
  timeval time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_usec = timeout.count() % 1000 * 1000;
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(file_descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

void set_tcp_options(int file_descriptor) {
  const auto set = [file_descriptor](int level, int option, auto value) {
    ::setsockopt(file_descriptor, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);  // a request is one line, and nothing follows it for a while
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms_max);
}

// Returns the time until `end`, at least 1 ms: 0 would mean without a bound.
milliseconds left_until(SteadyPoint end) {
  const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

// Connects and returns 0, or the errno.
int connect_descriptor(int file_descriptor, const sockaddr* address, socklen_t size) {
  int result = 0;
  do {
    result = ::connect(file_descriptor, address, size);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

CallError connect_error(const Endpoint& endpoint, int error) {
  const std::string where = endpoint.text();
  if (error == EAGAIN || error == EINPROGRESS || error == EALREADY || error == ETIMEDOUT) {
    return timed_out("the server at " + where + " accepts no connection",
                     {endpoint.is_unix() ? endpoint.status_command() : endpoint.start_command()});
  }
  // The sandbox in which codex runs the commands of its model.
  const char* const sandbox = std::getenv("CODEX_SANDBOX_NETWORK_DISABLED");
  if (error == EPERM && sandbox != nullptr && std::string_view(sandbox) == "1") {
    CallError denied =
        unreachable("the sandbox of codex allows no connection, so none to " + where +
                        "; its setting sandbox_workspace_write.network_access=true allows them",
                    {});
    denied.exit_code = ExitCode::not_allowed;
    return denied;
  }
  if (endpoint.is_unix() && (error == EACCES || error == EPERM)) {
    CallError denied = unreachable("not allowed to connect to " + where, {"ls -l " + where});
    denied.exit_code = ExitCode::not_allowed;
    return denied;
  }
  return unreachable("no server answers at " + where + ": " + std::strerror(error),
                     {endpoint.start_command()});
}

Called<FileDescriptor> connect_unix(const Endpoint& endpoint, milliseconds timeout) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = endpoint.socket.string();
  if (path.size() >= sizeof name.sun_path) {
    return tl::unexpected(usage_error("the path of the socket is too long for the kernel (" +
                                      std::to_string(sizeof name.sun_path - 1) +
                                      " bytes): " + path));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  FileDescriptor connected(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connected) return tl::unexpected(io_error(std::strerror(errno)));
  set_timeout(connected.get(), timeout);
  const int error =
      connect_descriptor(connected.get(), reinterpret_cast<sockaddr*>(&name), sizeof name);
  if (error != 0) return tl::unexpected(connect_error(endpoint, error));
  return connected;
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

CallError unencrypted_secret(const Endpoint& endpoint) {
  Endpoint encrypted = endpoint;
  encrypted.is_tls = true;
  return usage_error(
      endpoint.host +
          " is another machine, and an access token isn't sent there unencrypted: name " +
          encrypted.text() + " if the server takes TLS, or make a tunnel",
      {"ssh -L " + endpoint.port + ":127.0.0.1:" + endpoint.port + " " + endpoint.host});
}

Called<FileDescriptor> connect_tcp(const Endpoint& endpoint, bool with_secret,
                                   milliseconds timeout) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &list);
  if (failed != 0) {
    return tl::unexpected(unreachable("can't find " + endpoint.host + ": " + gai_strerror(failed),
                                      {"getent hosts " + endpoint.host}));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> freed(list, ::freeaddrinfo);
  const SteadyPoint end = std::chrono::steady_clock::now() + timeout;
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (with_secret && !endpoint.is_tls && !is_loopback(each->ai_addr)) {
      return tl::unexpected(unencrypted_secret(endpoint));
    }
    FileDescriptor connected(
        ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (!connected) return tl::unexpected(io_error(std::strerror(errno)));
    set_timeout(connected.get(), timeout.count() > 0 ? left_until(end) : timeout);
    error = connect_descriptor(connected.get(), each->ai_addr, each->ai_addrlen);
    if (error != 0) continue;
    set_timeout(connected.get(), timeout);
    set_tcp_options(connected.get());
    return connected;
  }
  return tl::unexpected(connect_error(endpoint, error));
}

tl::unexpected<TransferFault> transfer_fault(int error) {
  return tl::unexpected(
      TransferFault{error == EAGAIN || error == EWOULDBLOCK, std::strerror(error)});
}

// Makes the fault of a session that OpenSSL gave up.
tl::unexpected<TransferFault> tls_fault() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return tl::unexpected(
      TransferFault{false, std::string("TLS: ") + (reason != nullptr ? reason : "it failed")});
}

// Returns 1 if the socket has something to read by then, 0 if not, else -1 with errno.
int poll_until(int file_descriptor, SteadyPoint end) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waiting{file_descriptor, POLLIN, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

}  // namespace

Called<FileDescriptor> connect_socket(const Endpoint& endpoint, bool with_secret,
                                      milliseconds timeout) {
  return endpoint.is_unix() ? connect_unix(endpoint, timeout)
                            : connect_tcp(endpoint, with_secret, timeout);
}

ServerConnection::ServerConnection(FileDescriptor socket, TlsSession tls)
    : socket_(std::move(socket)), tls_(std::move(tls)) {}

ServerConnection::~ServerConnection() {
  if (!tls_ || !socket_ || SSL_is_init_finished(tls_.get()) == 0) return;
  // Says goodbye without waiting for anything.
  set_timeout(socket_.get(), milliseconds(1));
  ERR_clear_error();
  if (SSL_shutdown(tls_.get()) >= 0) (void)flush();
  ERR_clear_error();
}

Called<ServerConnection> ServerConnection::open(const ServerAddress& server,
                                                const Endpoint& endpoint, milliseconds connect_time,
                                                milliseconds timeout) {
  const SteadyPoint end = std::chrono::steady_clock::now() + connect_time;
  auto socket = TRY(connect_socket(endpoint, !server.secret.empty(), connect_time));
  if (!endpoint.is_tls) {
    set_timeout(socket.get(), timeout);
    return ServerConnection(std::move(socket), nullptr);
  }
  const auto trust = TRY(TlsTrust::load(server.ca));
  CertificateFault fault;
  auto tls = TRY(trust.begin(endpoint, fault));
  SSL_set_bio(tls.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  ServerConnection connection(std::move(socket), std::move(tls));
  TRY(connection.shake_hands(server, endpoint, fault, end));
  forget_fault(connection.tls_);
  set_timeout(connection.socket_.get(), timeout);
  return connection;
}

Called<void> ServerConnection::shake_hands(const ServerAddress& server, const Endpoint& endpoint,
                                           const CertificateFault& fault, SteadyPoint end) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(tls_.get());
    const bool wants_more = done != 1 && SSL_get_error(tls_.get(), done) == SSL_ERROR_WANT_READ;
    if (done != 1 && !wants_more) {
      CallError failure = handshake_failure(endpoint, fault, !server.ca.empty(), ERR_get_error());
      (void)flush();  // tells the server why
      return tl::unexpected(std::move(failure));
    }
    const auto sent = flush();
    if (sent && done == 1) return {};
    if (sent && poll_until(socket_.get(), end) == 0) {
      return tl::unexpected(handshake_timed_out(endpoint));
    }
    const auto fed = sent ? feed() : tl::unexpected(sent.error());
    if (!fed || !*fed) {
      return tl::unexpected(!fed && fed.error().is_timeout ? handshake_timed_out(endpoint)
                                                           : handshake_ended(endpoint));
    }
  }
}

tl::expected<void, TransferFault> ServerConnection::send(std::string_view bytes) {
  if (!tls_) return send_plain(bytes);
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, transferred_bytes);
    ERR_clear_error();
    const int taken = SSL_write(tls_.get(), part.data(), static_cast<int>(part.size()));
    if (taken <= 0) return tls_fault();
    if (auto sent = flush(); !sent) return sent;
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
  return {};
}

tl::expected<void, TransferFault> ServerConnection::send_plain(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return transfer_fault(errno);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

tl::expected<std::size_t, TransferFault> ServerConnection::receive_plain(
    std::span<char> into) const {
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return transfer_fault(errno);
    return static_cast<std::size_t>(got);
  }
}

tl::expected<void, TransferFault> ServerConnection::flush() {
  std::array<char, transferred_bytes> bytes;
  for (;;) {
    const int got =
        BIO_read(SSL_get_wbio(tls_.get()), bytes.data(), static_cast<int>(bytes.size()));
    if (got <= 0) return {};
    auto sent = send_plain({bytes.data(), static_cast<std::size_t>(got)});
    if (!sent) return sent;
  }
}

tl::expected<bool, TransferFault> ServerConnection::feed() {
  std::array<char, transferred_bytes> bytes;
  const auto got = TRY(receive_plain(bytes));
  if (got == 0) return false;
  BIO_write(SSL_get_rbio(tls_.get()), bytes.data(), static_cast<int>(got));
  return true;
}

tl::expected<std::size_t, TransferFault> ServerConnection::receive(std::span<char> into) {
  if (!tls_) return receive_plain(into);
  for (;;) {
    ERR_clear_error();
    std::size_t got = 0;
    const int done = SSL_read_ex(tls_.get(), into.data(), into.size(), &got);
    if (done == 1) return got;
    const int state = SSL_get_error(tls_.get(), done);
    if (state == SSL_ERROR_ZERO_RETURN) return 0;
    if (state != SSL_ERROR_WANT_READ) return tls_fault();
    TRY(flush());  // an answer of the session itself
    if (!TRY(feed())) return 0;
  }
}

tl::expected<bool, TransferFault> ServerConnection::await(milliseconds timeout) {
  const SteadyPoint end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (tls_) {
      char byte = 0;
      std::size_t peeked = 0;
      ERR_clear_error();
      const int done = SSL_peek_ex(tls_.get(), &byte, 1, &peeked);
      // Whatever else it is, receive() returns it.
      if (done == 1 || SSL_get_error(tls_.get(), done) != SSL_ERROR_WANT_READ) return true;
    }
    const int ready = poll_until(socket_.get(), end);
    if (ready < 0) return transfer_fault(errno);
    if (ready == 0) return false;
    // Bytes of TLS needn't have anything for a reader in them.
    if (!tls_ || !TRY(feed())) return true;
  }
}

void ServerConnection::interrupt() const { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace signalbox
