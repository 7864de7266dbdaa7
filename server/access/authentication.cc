#include "server/access/authentication.h"

#include <utility>

namespace signalbox {
namespace {

constexpr std::uint32_t root_uid = 0;

tl::unexpected<Rejection> unknown_token(const std::string& why) {
  return reject(ErrorCode::UNAUTHENTICATED, why, {}, {"signalbox access list"});
}

}  // namespace

Authentication::Authentication(const Engine& engine, const Clock& clock, Settings settings)
    : engine_(engine), clock_(clock), settings_(std::move(settings)) {}

Decided<Principal> Authentication::unix_peer(std::uint32_t uid,
                                             std::optional<std::string_view> secret) const {
  if (secret)
    return token_of(*secret).and_then([this](const Uuid& id) { return principal_of(id); });
  const bool owner = uid == settings_.server_uid || uid == root_uid;
  return Principal{"uid:" + std::to_string(uid), owner ? Role::admin : settings_.other_user_role};
}

Decided<Principal> Authentication::tcp_peer(const std::string& address, bool loopback,
                                            std::optional<std::string_view> secret) const {
  if (secret)
    return token_of(*secret).and_then([this](const Uuid& id) { return principal_of(id); });
  if (loopback) {
    const std::optional<Role> role = settings_.loopback_role.value_or(Role::operator_);
    if (role) return Principal{"tcp:" + address, *role};
  }
  return unknown_token("an access token is needed here");
}

Decided<Principal> Authentication::of(const Caller& caller) const {
  if (caller.token_id) return principal_of(*caller.token_id);
  return caller.uid ? unix_peer(*caller.uid) : tcp_peer(caller.address, caller.loopback, {});
}

Decided<Uuid> Authentication::token_of(std::string_view) const {
  return unknown_token("this access token isn't known");
}

Decided<Principal> Authentication::principal_of(const Uuid&) const {
  return unknown_token("this access token isn't known");
}

}  // namespace signalbox
