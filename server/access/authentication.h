// Who somebody is and which role that gives, or why nobody: the one place that decides it.
//
// Asked anew for each request, so that a token that was revoked, or whose time is over, ends at
// its next one. On the engine's thread.
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
    std::uint32_t server_uid = 0;         // it and root are admin over the Unix socket
    Role other_user_role = Role::viewer;  // anybody else there
    // Over TCP from a loopback address, without a secret. Not set: operator while no access token
    // was ever issued, nobody since. Set to nothing: nobody.
    std::optional<std::optional<Role>> loopback_role;
  };

  // Reads the access tokens in the engine's world.
  Authentication(const Engine& engine, const Clock& clock, Settings settings);

  // A Unix socket's peer, by SO_PEERCRED. With a secret it is whom the token names, and no more.
  [[nodiscard]] Decided<Principal> unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret = {}) const;
  // A TCP peer (with or without TLS), by its address without the port. UNAUTHENTICATED without a
  // secret where one is needed, and for one that isn't known, was revoked or has expired.
  [[nodiscard]] Decided<Principal> tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const;

  // A connection that speaks lines: by the token that it has authenticated with, if it has.
  [[nodiscard]] Decided<Principal> of(const Caller& caller) const;
  // The id of the access token that `secret` belongs to. UNAUTHENTICATED as above.
  [[nodiscard]] Decided<Uuid> token_of(std::string_view secret) const;
  // What a loopback TCP peer is without a secret, as things are; nothing: it needs one.
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
