// What can happen to access: who may reach the service, who tried what they may not, and what of
// the log nobody can read any more. Every event lies in the one stream `access`.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/access.h"
#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

// A secret was made that stands for a name and a role. What is kept of it is its plain SHA-256,
// without salt or stretching: those make the guessing of words that people choose costly, or the
// preparing of tables of them, but a secret is 256 random bits, which nobody guesses and no table
// holds. So the log may be read by those who may not use the token.
struct AccessTokenIssued {
  static constexpr EventTag tag{901, 1, "AccessTokenIssued"};
  Uuid id{};
  KeptText name;
  Role role = Role::viewer;
  Digest secret_sha256;
  std::optional<std::int64_t> expires_at_ns;  // UTC

  friend bool operator==(const AccessTokenIssued&, const AccessTokenIssued&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessTokenIssued, (), (id, name, role, secret_sha256, expires_at_ns))

struct AccessTokenRevoked {
  static constexpr EventTag tag{902, 1, "AccessTokenRevoked"};
  Uuid id{};
  FreeText reason;

  friend bool operator==(const AccessTokenRevoked&, const AccessTokenRevoked&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessTokenRevoked, (), (id, reason))

// Somebody asked for what they may not. One for each streak of an actor and method, and minute.
struct AccessDenied {
  static constexpr EventTag tag{903, 1, "AccessDenied"};
  KeptText actor;
  KeptText method;
  std::optional<Role> role;  // none: it wasn't known who they are
  Role needs = Role::viewer;

  friend bool operator==(const AccessDenied&, const AccessDenied&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessDenied, (), (actor, method, role, needs))

// From here on the tree over the log is signed with this key. Whoever trusts the key before it, and
// a checkpoint of that one over this event, may trust this one.
struct AuditKeyAdopted {
  static constexpr EventTag tag{904, 1, "AuditKeyAdopted"};
  KeptText name;          // the log's, as checkpoints call it
  KeptText verifier_key;  // the public half, as a verifier is given it
  KeptText previous;      // the verifier key before it, or empty

  friend bool operator==(const AuditKeyAdopted&, const AuditKeyAdopted&) = default;
};
BOOST_DESCRIBE_STRUCT(AuditKeyAdopted, (), (name, verifier_key, previous))

// Free text of an earlier record was erased; another payload lies in its place, and this binds it.
// Both digests are of 16 bytes of salt and a payload: the one is what the record's leaf in the tree
// has of the payload that was erased, the other is of what lies there now. The latest of a record
// counts.
struct PayloadRedacted {
  static constexpr EventTag tag{905, 1, "PayloadRedacted"};
  Position redacted_position = 0;  // of the record
  Digest payload_digest;
  Digest replacement_digest;
  KeptText event;    // its name
  KeptTexts fields;  // that were blanked, see free_text.h
  FreeText reason;

  friend bool operator==(const PayloadRedacted&, const PayloadRedacted&) = default;
};
BOOST_DESCRIBE_STRUCT(PayloadRedacted, (),
                      (redacted_position, payload_digest, replacement_digest, event, fields,
                       reason))

using AccessEvents = std::variant<AccessTokenIssued, AccessTokenRevoked, AccessDenied,
                                  AuditKeyAdopted, PayloadRedacted>;
using AccessEvent = OneOf<AccessEvents>;

}  // namespace signalbox
