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
#include <utility>

#include "server/access/caller.h"
#include "server/access/principal.h"
#include "server/engine/engine.h"

namespace signalbox {

class Authentication {
 public:
  struct Settings {
    std::uint32_t server_uid = 0;         // this user and root are admin over the Unix socket
    Role other_user_role = Role::viewer;  // every other user of the Unix socket
    // The role of a TCP client on a loopback address that shows no secret. Any user of the machine
    // can be one, so it has none unless somebody decided otherwise.
    std::optional<Role> loopback_role;
    std::string socket;        // path of the Unix socket, for the commands in refusals
    std::string job_key = {};  // of the secrets of jobs (secret.h); empty: jobs have none
  };

  // Reads the access tokens in the engine's world.
  Authentication(const Engine& engine, const Clock& clock, Settings settings);

  // Uses these settings for requests from now on.
  void use(Settings settings) { settings_ = std::move(settings); }

  // Authenticates the peer of a Unix socket. `uid` comes from SO_PEERCRED. If a secret is given,
  // the peer has the token's name and role, and not those of its uid. UNAUTHENTICATED as for
  // tcp_peer().
  [[nodiscard]] Decided<Principal> unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret = {}) const;
  // Authenticates a TCP peer, with or without TLS; `address` has no port. UNAUTHENTICATED if a
  // secret is needed and missing, or if it is unknown, was revoked or has expired.
  [[nodiscard]] Decided<Principal> tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const;

  // Returns why a token can't be used any more (UNAUTHENTICATED); nullopt if it can.
  [[nodiscard]] std::optional<Rejection> why_ended(const Uuid& token_id) const;

  // Authenticates a request: by `secret`, else by the token that the connection has shown, else by
  // the job that the peer's process belongs to, and else by its uid or address. A process that has
  // ended is nobody if its uid would make it admin: it may have been a job's. Nor does anybody know
  // the process of a TCP client, so one without a token decides no approval.
  [[nodiscard]] Decided<Principal> of(const Caller& caller,
                                      std::optional<std::string_view> secret = {}) const;
  // Returns the job with this id. UNAUTHENTICATED unless its attempt is under way.
  [[nodiscard]] Decided<Principal> job(std::string_view job_id) const;
  // Returns the id of the job that a job's secret belongs to. UNAUTHENTICATED if it is unknown.
  [[nodiscard]] Decided<std::string> job_of(std::string_view secret) const;
  // Returns the id of the usable access token that `secret` belongs to. UNAUTHENTICATED as above.
  [[nodiscard]] Decided<Uuid> token_of(std::string_view secret, bool is_local = false) const;
  // Returns the role of a loopback TCP peer without a secret; nullopt: it needs a secret.
  [[nodiscard]] std::optional<Role> loopback_role() const { return settings_.loopback_role; }
  [[nodiscard]] Role other_user_role() const { return settings_.other_user_role; }
  // Returns the command with which the server's own user issues an access token of this role.
  [[nodiscard]] std::string issue_command(Role role) const;

 private:
  [[nodiscard]] Decided<Principal> by_shown(const Caller& caller,
                                            std::optional<std::string_view> secret) const;
  [[nodiscard]] Decided<Principal> by_process(const Caller& caller) const;
  [[nodiscard]] Decided<Principal> by_secret(std::string_view secret, bool is_local) const;
  [[nodiscard]] Decided<Principal> by_token(const Uuid& token_id, bool is_local) const;
  // Returns a command that issues an access token, without its role. The token is called `name`, or
  // `name-2`, `name-3`, … while usable tokens have these names. A caller on this machine
  // (`is_local`) gets the path of the socket, too, because its environment may name another server.
  [[nodiscard]] std::string issue_words(const std::string& name, bool is_local) const;
  [[nodiscard]] tl::unexpected<Rejection> unauthenticated(const char* reason,
                                                          const std::string& message,
                                                          const std::string& token_name,
                                                          bool is_local) const;

  const Engine& engine_;
  const Clock& clock_;
  Settings settings_;
};

// Completes an UNAUTHENTICATED rejection of Authentication, whose next command lacks the role: only
// who knows the request knows the role that it needs.
Rejection with_needed_role(Rejection why, Role needs);

}  // namespace signalbox
