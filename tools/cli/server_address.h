// Where a command reaches its server: a Unix socket, or one or several addresses over TCP or TLS,
// and what it needs to trust the server and to be trusted by it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/call_error.h"

namespace signalbox {

// One place at which a server listens.
struct Endpoint {
  std::filesystem::path socket;  // path of a Unix socket; empty: TCP
  std::string host;              // a name or an address, without brackets
  std::string port;
  bool is_tls = false;

  [[nodiscard]] bool is_unix() const { return !socket.empty(); }
  // Returns the path, or the address in the form of ServerAddress::parse().
  [[nodiscard]] std::string text() const;
  // Returns "box:7070", "[::1]:7070".
  [[nodiscard]] std::string host_and_port() const;
  // Returns a command that starts a server there, or for another machine one that asks it how its
  // service is.
  [[nodiscard]] std::string start_command() const;
  // Returns a command that asks what became of the server there.
  [[nodiscard]] std::string status_command() const;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct ServerAddress {
  std::vector<Endpoint> endpoints;  // of one service, in the order in which they are tried
  std::string secret;               // of the access token, or empty: without one
  // A PEM file of the certificate authorities that are trusted; empty: those of the system.
  std::filesystem::path ca;

  ServerAddress() = default;
  ServerAddress(std::filesystem::path unix_socket) {  // NOLINT(google-explicit-constructor)
    endpoints.push_back({std::move(unix_socket), {}, {}, false});
  }

  // Parses "tcp://127.0.0.1:7070", "tls://[2001:db8::1]:7070", "tls://a:7070,tls://b:7070".
  // Anything else is a usage error.
  static Called<ServerAddress> parse(std::string_view text);

  [[nodiscard]] bool is_unix() const { return endpoints.size() == 1 && endpoints[0].is_unix(); }
  // Returns the endpoints in the form of parse(), or the path of the socket. Never the secret.
  [[nodiscard]] std::string text() const;
  // Returns the same with the endpoints behind `last` first and `last` at the end: a client whose
  // connection to that one broke tries the others before it.
  [[nodiscard]] ServerAddress after(const Endpoint& last) const;
  // Returns the same, beginning with `first`, which took commands most recently.
  [[nodiscard]] ServerAddress from(const Endpoint& first) const;
};

// Returns whether the text can be the name or the address of a host, without brackets, and be part
// of a command that is pasted.
bool is_host(std::string_view text);
// Returns whether the text is a port, 1 to 65535.
bool is_port_number(std::string_view text);
// Returns whether a host, without brackets, is the machine itself to whoever connects to it.
bool is_this_machine(std::string_view host);

}  // namespace signalbox
