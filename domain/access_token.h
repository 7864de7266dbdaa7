// The state of access control: the tokens that were issued, the streaks of denied requests that are
// in the log already, and the audit key.
//
// `expired` isn't a status: a token's end is compared with the wall clock at each use, so no event
// is needed when it is reached.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/transition.h"

namespace signalbox {

enum class AccessTokenStatus : std::uint8_t { absent = 1, issued = 2, revoked = 3 };
BOOST_DESCRIBE_ENUM(AccessTokenStatus, absent, issued, revoked)

using AccessTokenTransition = Transition<AccessTokenStatus>;

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array access_token_transitions = {
    AccessTokenTransition{AccessTokenStatus::absent, AccessTokenIssued::tag,
                          AccessTokenStatus::issued},
    AccessTokenTransition{AccessTokenStatus::issued, AccessTokenRevoked::tag,
                          AccessTokenStatus::revoked},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<AccessTokenStatus> next_status(AccessTokenStatus from,
                                                       std::uint16_t event_number) {
  return next_in(access_token_transitions, from, event_number);
}

struct AccessToken {
  Uuid id{};
  AccessTokenStatus status = AccessTokenStatus::absent;
  std::string name;
  Role role = Role::viewer;
  Digest secret_sha256;
  std::optional<std::int64_t> expires_at_ns;  // UTC
  std::int64_t issued_at_ns = 0;
  Position issued_at = 0;
  std::string issued_by;  // actor of the record that issued it
  std::int64_t revoked_at_ns = 0;
  std::string revoked_reason;

  [[nodiscard]] bool expired(std::int64_t wall_ns) const {
    return expires_at_ns && *expires_at_ns <= wall_ns;
  }
  [[nodiscard]] bool usable(std::int64_t wall_ns) const {
    return status == AccessTokenStatus::issued && !expired(wall_ns);
  }
  friend bool operator==(const AccessToken&, const AccessToken&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessToken, (),
                      (id, status, name, role, secret_sha256, expires_at_ns, issued_at_ns,
                       issued_at, issued_by, revoked_at_ns, revoked_reason))

// The latest AccessDenied of one actor and method. Until it is a minute old, no other is recorded.
struct DenialStreak {
  std::string actor;
  std::string method;
  std::int64_t noted_at_ns = 0;

  friend bool operator==(const DenialStreak&, const DenialStreak&) = default;
};
BOOST_DESCRIBE_STRUCT(DenialStreak, (), (actor, method, noted_at_ns))

// The key that the log's Merkle tree is signed with at present.
struct AuditKey {
  std::string name;
  std::string verifier_key;
  Position adopted_at = 0;

  friend bool operator==(const AuditKey&, const AuditKey&) = default;
};
BOOST_DESCRIBE_STRUCT(AuditKey, (), (name, verifier_key, adopted_at))

struct AccessState {
  // In the order in which they were issued. At limits::access_tokens_max the oldest revoked or
  // expired token is dropped.
  std::vector<AccessToken> tokens;
  std::vector<DenialStreak> denials;  // oldest first
  std::uint64_t issued_total = 0;     // tokens issued since the log began
  std::optional<AuditKey> audit_key;

  // Returns the token, or nullptr.
  [[nodiscard]] const AccessToken* find(const Uuid& id) const;
  friend bool operator==(const AccessState&, const AccessState&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessState, (), (tokens, denials, issued_total, audit_key))

}  // namespace signalbox
