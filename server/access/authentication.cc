#include "server/access/authentication.h"

#include <utility>

#include <openssl/crypto.h>

#include "server/access/secret.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::uint32_t root_uid = 0;

tl::unexpected<Rejection> unauthenticated(const char* reason, const std::string& message) {
  return reject(ErrorCode::UNAUTHENTICATED, message, {{"reason", std::string(reason)}},
                {"signalbox access issue my-machine --role worker"});
}

tl::unexpected<Rejection> unknown() {
  return unauthenticated("unknown", "this access token isn't known");
}

}  // namespace

Authentication::Authentication(const Engine& engine, const Clock& clock, Settings settings)
    : engine_(engine), clock_(clock), settings_(std::move(settings)) {}

std::optional<Role> Authentication::loopback_role() const {
  if (settings_.loopback_role) return *settings_.loopback_role;
  if (engine_.world().access.issued_total > 0) return std::nullopt;
  return Role::operator_;
}

Decided<Principal> Authentication::unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret);
  const bool owner = uid == settings_.server_uid || uid == root_uid;
  return Principal{"uid:" + std::to_string(uid), owner ? Role::admin : settings_.other_user_role};
}

Decided<Principal> Authentication::tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const {
  if (secret) return by_secret(*secret);
  if (const auto role = loopback ? loopback_role() : std::nullopt) {
    return Principal{"tcp:" + address, *role};
  }
  return unauthenticated(
      "missing",
      "an access token is needed here; the server's own user can issue one over its "
      "Unix socket");
}

Decided<Principal> Authentication::of(const Caller& caller) const {
  if (caller.token_id) return by_token(*caller.token_id);
  return caller.uid ? unix_peer(*caller.uid) : tcp_peer(caller.address, caller.loopback, {});
}

// Compares with every token, each in constant time, so that the duration reveals nothing about any
// digest.
Decided<Uuid> Authentication::token_of(std::string_view secret) const {
  const Digest digest = digest_of_secret(secret);
  const AccessToken* found = nullptr;
  for (const AccessToken& token : engine_.world().access.tokens) {
    if (CRYPTO_memcmp(token.secret_sha256.bytes.data(), digest.bytes.data(), digest.bytes.size()) ==
        0) {
      found = &token;
    }
  }
  if (found == nullptr) return unknown();
  return by_token(found->id).map([found](const Principal&) { return found->id; });
}

Decided<Principal> Authentication::by_secret(std::string_view secret) const {
  return token_of(secret).and_then([this](const Uuid& id) { return by_token(id); });
}

Decided<Principal> Authentication::by_token(const Uuid& token_id) const {
  const AccessToken* token = engine_.world().access.find(token_id);
  if (token == nullptr) return unknown();
  if (token->status == AccessTokenStatus::revoked) {
    return unauthenticated("revoked", "the access token " + token->name + " was revoked at " +
                                          format_time(token->revoked_at_ns));
  }
  if (!token->usable(clock_.wall_ns())) {
    return unauthenticated("expired", "the access token " + token->name + " expired at " +
                                          format_time(token->expires_at_ns.value_or(0)));
  }
  return Principal{"token:" + token->name, token->role};
}

}  // namespace signalbox
