// Decisions about access tokens, denials and the audit key. The caller's own rights aren't checked
// here: the server checks them before it decides a command.
#include <algorithm>

#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
Decided<NewEvents> decide(const World& world, const IssueAccessToken& command, const Now& now) {
  TRY(require_line("name", command.name, limits::name_bytes_max));
  if (command.role == Role::job) {
    return reject(ErrorCode::INVALID_PARAMS,
                  "a job gets its secret from the service; no access token has its role",
                  {{"field", std::string("role")}}, {"signalbox access issue --help"});
  }
  if (command.expires_in_ms) {
    TRY(require_between("expires_in_ms", *command.expires_in_ms, limits::access_token_life_ms_min,
                        limits::access_token_life_ms_max));
  }
  std::size_t usable = 0;
  for (const AccessToken& token : world.access.tokens) {
    if (!token.usable(now.wall_ns)) continue;
    ++usable;
    if (token.name == command.name) {
      return reject(ErrorCode::ACCESS_TOKEN_EXISTS,
                    "there is an access token of the name " + command.name,
                    {{"name", command.name}, {"id", to_string(token.id)}},
                    {"signalbox access list", "signalbox access revoke " + to_string(token.id) +
                                                  " --reason \"another takes its name\""});
    }
  }
  if (usable >= limits::access_tokens_max) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "too many access tokens are in use",
                  {{"access_tokens_max", static_cast<std::int64_t>(limits::access_tokens_max)}},
                  {"signalbox access list"});
  }
  AccessTokenIssued issued{command.id, command.name, command.role, command.secret_sha256, {}};
  if (command.expires_in_ms) {
    issued.expires_at_ns = now.wall_ns + *command.expires_in_ms * ns_per_ms;
  }
  return NewEvents{{Stream::access(), {}, 0, AccessEvent{std::move(issued)}}};
}

Decided<NewEvents> decide(const World& world, const RevokeAccessToken& command, const Now&) {
  TRY(require_name("reason", command.reason, limits::reason_bytes_max));
  const AccessToken* token = world.access.find(command.id);
  if (token == nullptr) {
    return reject(ErrorCode::ACCESS_TOKEN_NOT_FOUND,
                  "there is no access token " + to_string(command.id),
                  {{"id", to_string(command.id)}}, {"signalbox access list"});
  }
  if (token->status == AccessTokenStatus::revoked) return NewEvents{};
  return NewEvents{{Stream::access(),
                    {},
                    token->issued_at,
                    AccessEvent{AccessTokenRevoked{command.id, command.reason}}}};
}

Decided<NewEvents> decide(const World& world, const AdoptAuditKey& command, const Now&) {
  TRY(require_line("name", command.name, limits::name_bytes_max));
  TRY(require_line("verifier_key", command.verifier_key, limits::verifier_key_bytes_max));
  const std::optional<AuditKey>& present = world.access.audit_key;
  if (present && present->verifier_key == command.verifier_key) return NewEvents{};
  return NewEvents{{Stream::access(),
                    {},
                    present ? present->adopted_at : 0,
                    AccessEvent{AuditKeyAdopted{command.name, command.verifier_key,
                                                present ? present->verifier_key : std::string()}}}};
}

// A streak ends a minute after its latest event, by the wall clock, so that this holds across
// restarts. While limits::denial_streaks_max streaks are fresh, no further one is recorded, so that
// a caller with many addresses can't fill the log. Strangers get half of the places, so that they
// don't hide what callers are denied that the service knows.
Decided<NewEvents> decide(const World& world, const NoteAccessDenied& command, const Now& now) {
  const auto is_fresh = [&now](const DenialStreak& streak) {
    const std::int64_t age_ns = now.wall_ns - streak.noted_at_ns;
    return age_ns >= 0 && age_ns < limits::denial_streak_ms_max * ns_per_ms;
  };
  const auto& denials = world.access.denials;
  const auto same =
      std::find_if(denials.begin(), denials.end(), [&command](const DenialStreak& each) {
        return each.actor == command.actor && each.method == command.method;
      });
  if (same != denials.end() && is_fresh(*same)) return NewEvents{};
  const std::size_t places =
      command.role ? limits::denial_streaks_max : limits::denial_streaks_max / 2;
  const auto fresh = std::count_if(denials.begin(), denials.end(), is_fresh);
  if (static_cast<std::size_t>(fresh) >= places) return NewEvents{};
  return NewEvents{
      {Stream::access(),
       {},
       0,
       AccessEvent{AccessDenied{command.actor, command.method, command.role, command.needs}}}};
}

}  // namespace signalbox
