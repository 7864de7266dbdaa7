// How the events of access change the world.
#include <algorithm>

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {
namespace {

AccessToken* find(World& world, const Uuid& id) {
  auto& tokens = world.access.tokens;
  const auto place = std::find_if(tokens.begin(), tokens.end(),
                                  [&id](const AccessToken& token) { return token.id == id; });
  return place == tokens.end() ? nullptr : &*place;
}

// Returns the token's status after the event. Aborts on a pair that isn't in the transition table.
AccessTokenStatus status_after(World& world, const Uuid& id, const EventTag& tag) {
  const AccessToken* token = find(world, id);
  const auto next =
      next_status(token == nullptr ? AccessTokenStatus::absent : token->status, tag.number);
  SIGNALBOX_CHECK(next.has_value());
  return *next;
}

void evolve(World& world, const Record& record, const AccessTokenIssued& event) {
  AccessToken token;
  token.status = status_after(world, event.id, event.tag);
  token.id = event.id;
  token.name = event.name;
  token.role = event.role;
  token.secret_sha256 = event.secret_sha256;
  token.expires_at_ns = event.expires_at_ns;
  token.issued_at_ns = record.recorded_at_ns;
  token.issued_at = record.position;
  token.issued_by = record.actor;
  auto& tokens = world.access.tokens;
  if (tokens.size() >= limits::access_tokens_max) {
    const auto unusable = std::find_if(
        tokens.begin(), tokens.end(),
        [&record](const AccessToken& each) { return !each.usable(record.recorded_at_ns); });
    SIGNALBOX_CHECK(unusable != tokens.end());
    tokens.erase(unusable);
  }
  tokens.push_back(std::move(token));
  ++world.access.issued_total;
}

void evolve(World& world, const Record& record, const AccessTokenRevoked& event) {
  const AccessTokenStatus next = status_after(world, event.id, event.tag);
  AccessToken& token = *find(world, event.id);
  token.status = next;
  token.revoked_at_ns = record.recorded_at_ns;
  token.revoked_reason = event.reason;
}

void evolve(World& world, const Record& record, const AccessDenied& event) {
  auto& denials = world.access.denials;
  std::erase_if(denials, [&event](const DenialStreak& each) {
    return each.actor == event.actor && each.method == event.method;
  });
  if (denials.size() >= limits::denial_streaks_max) denials.erase(denials.begin());
  denials.push_back({event.actor, event.method, record.recorded_at_ns});
}

void evolve(World& world, const Record& record, const AuditKeyAdopted& event) {
  world.access.audit_key = AuditKey{event.name, event.verifier_key, record.position};
}

// The redacted record lies before this event, and replay applies it as it is now: with blanked
// texts.
void evolve(World&, const Record&, const PayloadRedacted&) {}

}  // namespace

void evolve_noun(World& world, const Record& record, const AccessEvent& noun) {
  std::visit([&](const auto& event) { evolve(world, record, event); }, noun);
}

}  // namespace signalbox
