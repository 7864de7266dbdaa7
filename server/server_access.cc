// The settings of access; and the end of what an access token has begun when it ends: a wait for a
// claim, a step or a lock isn't granted any more, and a subscription gets nothing. What was granted
// before has its lease.
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/server.h"

namespace signalbox {

namespace asio = boost::asio;

void Server::end_token(const Uuid& token_id) {
  const AccessToken* const token = engine_.world().access.find(token_id);
  const auto why = authentication_.why_ended(token_id);
  if (token == nullptr || !why) return;
  const std::string actor = "token:" + token->name;
  claims_.refuse_of(actor, *why);
  steps_.refuse_of(actor, *why);
  locks_.refuse_of(actor, *why);
  for (const std::string& runner : runners_.of_caller(actor)) runner_queue_.refuse(runner, *why);
  feed_.close_of(actor);
}

// Posted, before the turn that may grant something: a refusal belongs to no transaction.
void Server::end_revoked(std::span<const Record> records) {
  for (const Record& record : records) {
    const auto* const revoked = event_as<AccessTokenRevoked>(record.event);
    if (revoked == nullptr) continue;
    asio::post(io_, [this, id = revoked->id] {
      if (!stopping_) end_token(id);
    });
  }
}

void Server::end_expired() {
  const std::int64_t now_ns = clock_.wall_ns();
  const std::int64_t since_ns = std::exchange(expired_until_ns_, now_ns);
  for (const AccessToken& token : engine_.world().access.tokens) {
    const bool has_just_expired = token.expired(now_ns) && !token.expired(since_ns);
    if (has_just_expired && token.status == AccessTokenStatus::issued) end_token(token.id);
  }
}

Authentication::Settings Server::access_settings(const Config& config) const {
  Authentication::Settings settings = config.access;
  settings.job_key = job_key_;
  return settings;
}

}  // namespace signalbox
