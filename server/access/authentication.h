// Maps a client to its actor name and role, or says why it is unauthenticated. This is the only
// place that decides it.
//
// It is evaluated for each request, so a token that was revoked or has expired stops working at the
// client's next request. All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/access/caller.h"
#include "server/access/principal.h"
#include "server/engine/engine.h"

namespace signalbox {

class Authentication {
 public:
  struct Settings {
    std::uint32_t server_uid = 0;         // this user and root are admin over the Unix socket
    Role other_user_role = Role::viewer;  // every other user of the Unix socket
    // The role of a TCP client on a loopback address that shows no secret. Not set: operator until
    // the first access token is issued, then none. Set to nullopt: none.
    std::optional<std::optional<Role>> loopback_role;
  };

  // Reads the access tokens in the engine's world.
  Authentication(const Engine& engine, const Clock& clock, Settings settings);

  // Authenticates the peer of a Unix socket. `uid` comes from SO_PEERCRED. If a secret is given,
  // the peer has the token's name and role, and not those of its uid. UNAUTHENTICATED as for
  // tcp_peer().
  [[nodiscard]] Decided<Principal> unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret = {}) const;
  // Authenticates a TCP peer, with or without TLS; `address` has no port. UNAUTHENTICATED if a
  // secret is needed and missing, or if it is unknown, was revoked or has expired.
  [[nodiscard]] Decided<Principal> tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const;

  // Authenticates a connection of the line protocol: by the token that it has shown, if any, and
  // else by its uid or address.
  [[nodiscard]] Decided<Principal> of(const Caller& caller) const;
  // Returns the id of the usable access token that `secret` belongs to. UNAUTHENTICATED as above.
  [[nodiscard]] Decided<Uuid> token_of(std::string_view secret) const;
  // Returns the role that a loopback TCP peer without a secret has now; nullopt: it needs a secret.
  [[nodiscard]] std::optional<Role> loopback_role() const;
  [[nodiscard]] bool loopback_role_is_set() const { return settings_.loopback_role.has_value(); }
  [[nodiscard]] Role other_user_role() const { return settings_.other_user_role; }

 private:
  [[nodiscard]] Decided<Principal> by_secret(std::string_view secret) const;
  [[nodiscard]] Decided<Principal> by_token(const Uuid& token_id) const;

  const Engine& engine_;
  const Clock& clock_;
  const Settings settings_;
};

}  // namespace signalbox
