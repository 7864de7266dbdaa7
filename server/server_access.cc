// The settings of access; and the end of what an access token has begun when it ends: a wait for a
// claim, a step or a lock isn't granted any more, and a subscription gets nothing. What was granted
// before has its lease.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "domain/attempt_end.h"
#include "server/server.h"
#include "server/text/separated_text.h"

namespace signalbox {

namespace asio = boost::asio;

namespace {

// Returns whether `actor` was a job, or its agent, of an attempt that isn't under way.
bool was_job(const World& world, std::string_view actor) {
  const std::string_view kind = take_until(actor, ':');
  if (kind != "job" && kind != "agent") return false;
  const auto id = parse_uuid(take_until(actor, '/'));
  const Run* const run = id ? world.find_run(*id) : nullptr;
  return run == nullptr || !run->attempt ||
         actor != run->definition().name + "/" + std::to_string(run->attempt->number);
}

// Returns whether `actor` was somebody with a token, and none of this name can be used.
bool had_token(const World& world, std::string_view actor, std::int64_t now_ns) {
  if (take_until(actor, ':') != "token") return false;
  const auto& tokens = world.access.tokens;
  return std::none_of(tokens.begin(), tokens.end(), [&](const AccessToken& token) {
    return token.name == actor && token.status == AccessTokenStatus::issued &&
           !token.expired(now_ns);
  });
}

}  // namespace

// A job's secret may be used where the end of its processes doesn't reach.
void Server::end_jobs() {
  refuse_waiting([this](const std::string& actor) { return was_job(engine_.world(), actor); },
                 {ErrorCode::UNAUTHENTICATED,
                  "the attempt of the job has ended, and so have its rights",
                  {{"reason", std::string("attempt_ended")}},
                  {"signalbox run list"}});
}

void Server::refuse_waiting(const std::function<bool(const std::string& actor)>& is_meant,
                            const Rejection& why) {
  claims_.refuse_of(is_meant, why);
  steps_.refuse_of(is_meant, why);
  locks_.refuse_of(is_meant, why);
}

void Server::end_token(const Uuid& token_id) {
  const AccessToken* const token = engine_.world().access.find(token_id);
  const auto why = authentication_.why_ended(token_id);
  if (token == nullptr || !why) return;
  const std::string actor = "token:" + token->name;
  const auto is_its = [&actor](const std::string& each) { return each == actor; };
  refuse_waiting(is_its, *why);
  feed_.close_of(is_its);
  for (const std::string& runner : runners_.of_caller(actor)) runner_queue_.refuse(runner, *why);
}

// Nothing is refused at once, since a refusal belongs to no transaction. What an ended attempt
// waits for is refused before the next turn grants anything.
void Server::end_revoked(std::span<const Record> records) {
  const bool has_waiting = claims_.size() + locks_.size() + steps_.size() > 0;
  for (const Record& record : records) {
    if (const auto* const revoked = event_as<AccessTokenRevoked>(record.event)) {
      asio::post(io_, [this, id = revoked->id] {
        if (!stopping_) end_token(id);
      });
    } else if (has_waiting && ends_attempt(record.event)) {
      jobs_have_ended_ = true;
      schedule_turn();
    }
  }
}

// Also ends subscriptions that were on their way when the rights ended.
void Server::watch_tokens() {
  const World& world = engine_.world();
  const std::int64_t now_ns = clock_.wall_ns();
  const std::int64_t since_ns = std::exchange(expired_until_ns_, now_ns);
  for (const AccessToken& token : world.access.tokens) {
    const bool has_just_expired = token.expired(now_ns) && !token.expired(since_ns);
    if (has_just_expired && token.status == AccessTokenStatus::issued) end_token(token.id);
  }
  feed_.close_ended([&](const std::string& actor) {
    return was_job(world, actor) || had_token(world, actor, now_ns);
  });
  token_timer_.expires_after(std::chrono::seconds(1));
  token_timer_.async_wait([this](const boost::system::error_code& replaced) {
    if (!replaced && !stopping_) watch_tokens();
  });
}

Authentication::Settings Server::access_settings(const Config& config) const {
  Authentication::Settings settings = config.access;
  settings.job_key = job_key_;
  return settings;
}

}  // namespace signalbox
