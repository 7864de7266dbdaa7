#include "server/access/authentication.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>

#include "domain/refusals.h"
#include "server/access/secret.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::uint32_t root_uid = 0;

// The name of a token in a command that somebody may paste as it is.
const char* const example_name = "my-machine";

}  // namespace

Authentication::Authentication(const Engine& engine, const Clock& clock, Settings settings)
    : engine_(engine), clock_(clock), settings_(std::move(settings)) {}

std::string Authentication::issue_words(const std::string& name, bool is_local) const {
  const auto is_taken = [this](const std::string& candidate) {
    const auto& tokens = engine_.world().access.tokens;
    return std::any_of(tokens.begin(), tokens.end(), [&](const AccessToken& token) {
      return token.name == candidate && token.usable(clock_.wall_ns());
    });
  };
  std::string free = name;
  for (int number = 2; is_taken(free); ++number) free = name + "-" + std::to_string(number);
  const bool names_socket = is_local && !settings_.socket.empty();
  return "signalbox access issue " + shell_word(free) +
         (names_socket ? " --socket " + shell_word(settings_.socket) : "");
}

std::string Authentication::issue_command(Role role) const {
  return issue_words(example_name, /*is_local=*/true) + " --role " + name_of(role);
}

tl::unexpected<Rejection> Authentication::unauthenticated(const char* reason,
                                                          const std::string& message,
                                                          const std::string& token_name,
                                                          bool is_local) const {
  return reject(ErrorCode::UNAUTHENTICATED, message, {{"reason", std::string(reason)}},
                {issue_words(token_name, is_local)});
}

Decided<Principal> Authentication::unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret, /*is_local=*/true);
  const bool owner = uid == settings_.server_uid || uid == root_uid;
  return Principal{"uid:" + std::to_string(uid), owner ? Role::admin : settings_.other_user_role};
}

Decided<Principal> Authentication::tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret, loopback);
  if (const auto role = loopback ? loopback_role() : std::nullopt) {
    return Principal{"tcp:" + address, *role};
  }
  return unauthenticated("missing",
                         "an access token is needed here; the server's own user can issue one over "
                         "its Unix socket",
                         example_name, loopback);
}

Decided<Principal> Authentication::of(const Caller& caller) const {
  const bool is_local = caller.uid || caller.loopback;
  if (caller.token_id) return by_token(*caller.token_id, is_local);
  return caller.uid ? unix_peer(*caller.uid) : tcp_peer(caller.address, caller.loopback, {});
}

// Compares with every token, each in constant time, so that the duration reveals nothing about any
// digest.
Decided<Uuid> Authentication::token_of(std::string_view secret, bool is_local) const {
  const Digest digest = digest_of_secret(secret);
  const AccessToken* found = nullptr;
  for (const AccessToken& token : engine_.world().access.tokens) {
    if (CRYPTO_memcmp(token.secret_sha256.bytes.data(), digest.bytes.data(), digest.bytes.size()) ==
        0) {
      found = &token;
    }
  }
  if (found == nullptr) {
    return unauthenticated("unknown", "this access token isn't known", example_name, is_local);
  }
  return by_token(found->id, is_local).map([found](const Principal&) { return found->id; });
}

Decided<Principal> Authentication::by_secret(std::string_view secret, bool is_local) const {
  return token_of(secret, is_local).and_then([this, is_local](const Uuid& id) {
    return by_token(id, is_local);
  });
}

Decided<Principal> Authentication::by_token(const Uuid& token_id, bool is_local) const {
  const AccessToken* token = engine_.world().access.find(token_id);
  if (token == nullptr) {
    return unauthenticated("unknown", "this access token isn't known", example_name, is_local);
  }
  if (token->status == AccessTokenStatus::revoked) {
    return unauthenticated(
        "revoked",
        "the access token " + token->name + " was revoked at " + format_time(token->revoked_at_ns),
        token->name, is_local);
  }
  if (!token->usable(clock_.wall_ns())) {
    return unauthenticated("expired",
                           "the access token " + token->name + " expired at " +
                               format_time(token->expires_at_ns.value_or(0)),
                           token->name, is_local);
  }
  return Principal{"token:" + token->name, token->role};
}

Rejection with_needed_role(Rejection why, Role needs) {
  for (std::string& command : why.next_commands) {
    command += std::string(" --role ") + name_of(needs);
  }
  return why;
}

}  // namespace signalbox
