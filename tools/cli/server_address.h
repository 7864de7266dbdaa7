// Where the server is that a command speaks to, and with which access token: a Unix socket, or a
// TCP address.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "tools/cli/call_error.h"

namespace signalbox {

struct ServerAddress {
  std::filesystem::path socket;  // of a Unix socket; empty: TCP
  std::string host;              // a name or an address, without brackets
  std::string port;
  std::string secret;  // of the access token to be known by, or empty

  ServerAddress() = default;
  ServerAddress(std::filesystem::path unix_socket)  // NOLINT(google-explicit-constructor)
      : socket(std::move(unix_socket)) {}

  // "tcp://127.0.0.1:7070", "tcp://[::1]:7070". A usage error for anything else.
  static Called<ServerAddress> parse_tcp(std::string_view text);

  [[nodiscard]] bool is_unix() const { return !socket.empty(); }
  // The path, or the address as parse_tcp() takes it. Never the secret.
  [[nodiscard]] std::string text() const;
  // What starts a server there.
  [[nodiscard]] std::string start_command() const;
};

// A connected stream socket. `unreachable` if no server listens there. A secret is never sent to
// another machine in the clear: with one, only a loopback peer is taken.
Called<int> connect_to(const ServerAddress& address, std::chrono::milliseconds timeout);

}  // namespace signalbox
