// The access settings of the configuration file: reading and checking them, and the sentences that
// the server logs about access.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "server/access/authentication.h"

namespace signalbox {

// Sets `loopback_role` (a role or none) or `socket_role` (a role) in `settings`. Returns an error
// message for any other value.
tl::expected<void, std::string> set_access(std::string_view key, const std::string& value,
                                           Authentication::Settings& settings);

struct TcpAddress {
  std::string host;  // an IP address, without brackets
  std::uint16_t port = 0;
};
// Returns what "127.0.0.1:7070" or "[::1]:7070" is; nullopt for anything else.
std::optional<TcpAddress> parse_tcp_address(const std::string& listen);

// Returns an error message if `listen` is neither empty nor an address with a port.
tl::expected<void, std::string> require_address(const std::string& listen);

// Returns an error message if `listen` is reachable from other machines and TLS isn't configured,
// so that no secret is ever sent in the clear; also if only one of the two TLS files is set.
// Accepts an empty `listen`, and one that is no address: the listener reports that.
tl::expected<void, std::string> require_protected(const std::string& listen,
                                                  const std::filesystem::path& tls_certificate,
                                                  const std::filesystem::path& tls_key);

// Returns a sentence for the server's log about what a TCP client without an access token may do.
// It has the command that issues a token.
std::string tcp_access_text(const Authentication& authentication);
// Returns a sentence for the server's log about a denied request.
std::string denial_text(const AccessDenied& denied);

}  // namespace signalbox
