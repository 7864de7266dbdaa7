// A blocking connection to one endpoint of a server: a Unix socket, TCP, or TLS over TCP.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "store/file_descriptor.h"
#include "tools/cli/server_address.h"
#include "tools/cli/tls_session.h"

namespace signalbox {

// Time in which an endpoint over TCP or TLS has to accept a connection, handshake included.
inline constexpr std::chrono::milliseconds connect_time_max{5000};

// Returns a connected stream socket, without TLS. A `timeout` above 0 bounds the connecting, and
// stays set for each send and receive. Fails with `unreachable` if no server listens there.
// `with_secret`: a secret is going to be sent. Then only a loopback address is taken without TLS
// (else a usage error), so that the secret is never sent to another machine unencrypted.
Called<FileDescriptor> connect_socket(const Endpoint& endpoint, bool with_secret,
                                      std::chrono::milliseconds timeout);

// Why bytes couldn't be sent or received.
struct TransferFault {
  bool is_timeout = false;
  std::string message;
};

// Not thread-safe, except for interrupt().
class ServerConnection {
 public:
  // Connects to the endpoint of `server`; with TLS the server has proved who it is. Blocks at most
  // for `connect_time` (not for the look-up of a name); a Unix socket is waited for without a bound
  // if that is 0. A `timeout` above 0 applies to each later send and receive.
  static Called<ServerConnection> open(const ServerAddress& server, const Endpoint& endpoint,
                                       std::chrono::milliseconds connect_time,
                                       std::chrono::milliseconds timeout);

  ServerConnection(ServerConnection&&) = default;
  ServerConnection& operator=(ServerConnection&&) = delete;
  ~ServerConnection();

  // Sends all bytes. Blocks.
  tl::expected<void, TransferFault> send(std::string_view bytes);
  // Blocks until something has come; returns how much, 0 at the end.
  tl::expected<std::size_t, TransferFault> receive(std::span<char> into);
  // Waits at most that long until receive() has something to return. Returns whether it has.
  tl::expected<bool, TransferFault> await(std::chrono::milliseconds timeout);

  // Makes the transfer under way and all later ones fail at once. Called from another thread.
  void interrupt() const;
  // Returns the socket, for a caller that waits for several: then await() says whether receive()
  // has something, which may also have come before.
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  ServerConnection(FileDescriptor socket, TlsSession tls);

  Called<void> shake_hands(const ServerAddress& server, const Endpoint& endpoint,
                           const CertificateFault& fault,
                           std::chrono::steady_clock::time_point end);
  tl::expected<void, TransferFault> send_plain(std::string_view bytes) const;
  tl::expected<std::size_t, TransferFault> receive_plain(std::span<char> into) const;
  // Sends what the session has made of the bytes that it was given.
  tl::expected<void, TransferFault> flush();
  // Gives the session what comes next. Returns false at the end.
  tl::expected<bool, TransferFault> feed();

  FileDescriptor socket_;
  TlsSession tls_;  // or none; its bytes go through buffers in memory
};

}  // namespace signalbox
