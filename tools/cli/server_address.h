// The address of the server that a command connects to, a Unix socket or a TCP address, and the
// access token to authenticate with.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "tools/cli/call_error.h"

namespace signalbox {

struct ServerAddress {
  std::filesystem::path socket;  // path of a Unix socket; empty: TCP
  std::string host;              // a name or an address, without brackets
  std::string port;
  std::string secret;  // of the access token, or empty: without one

  ServerAddress() = default;
  ServerAddress(std::filesystem::path unix_socket)  // NOLINT(google-explicit-constructor)
      : socket(std::move(unix_socket)) {}

  // Parses "tcp://127.0.0.1:7070", "tcp://[::1]:7070". Anything else is a usage error.
  static Called<ServerAddress> parse_tcp(std::string_view text);

  [[nodiscard]] bool is_unix() const { return !socket.empty(); }
  // Returns the path, or the address in the form of parse_tcp(). Never the secret.
  [[nodiscard]] std::string text() const;
  // Returns the command that starts a server at this address.
  [[nodiscard]] std::string start_command() const;
};

// Returns a connected stream socket, which the caller closes. A `timeout` above 0 applies to
// connecting and to each send and receive. Fails with `unreachable` if no server listens there.
// An address with a secret must be a loopback address (else a usage error), so that the secret is
// never sent to another machine unencrypted.
Called<int> connect_to(const ServerAddress& address, std::chrono::milliseconds timeout);

}  // namespace signalbox
