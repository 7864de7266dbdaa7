// Events about access: tokens issued and revoked, requests denied, audit keys adopted, payloads
// redacted. All of them lie in the one stream `access`.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/access.h"
#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

// A secret was issued that stands for a name and a role. Only its plain SHA-256 is kept, without
// salt or stretching. Those two make it costly to guess words that people choose, or to prepare
// tables of them; a secret is 256 random bits, which nobody guesses and no table holds. So people
// who may not use the token may still read the log.
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

// A caller was refused for lack of rights. Recorded once a minute for each actor and method.
struct AccessDenied {
  static constexpr EventTag tag{903, 1, "AccessDenied"};
  KeptText actor;
  KeptText method;
  std::optional<Role> role;  // of the caller; none: not authenticated
  Role needs = Role::viewer;

  friend bool operator==(const AccessDenied&, const AccessDenied&) = default;
};
BOOST_DESCRIBE_STRUCT(AccessDenied, (), (actor, method, role, needs))

// From here on the Merkle tree over the log is signed with this key. A verifier that trusts the
// previous key, and has a checkpoint signed with it that covers this event, may trust this key.
struct AuditKeyAdopted {
  static constexpr EventTag tag{904, 1, "AuditKeyAdopted"};
  KeptText name;          // of the log, as in its checkpoints
  KeptText verifier_key;  // the public half, in the form that verifiers take
  KeptText previous;      // the previous verifier key, or empty

  friend bool operator==(const AuditKeyAdopted&, const AuditKeyAdopted&) = default;
};
BOOST_DESCRIBE_STRUCT(AuditKeyAdopted, (), (name, verifier_key, previous))

// Free text of an earlier record was erased: the record has a replacement payload now, and this
// event authenticates it. Both digests are over 16 bytes of salt and a payload. `payload_digest` is
// the one in the record's Merkle leaf, of the erased payload; `replacement_digest` is of the
// payload that is stored now. Where a record was redacted more than once, the latest event counts.
struct PayloadRedacted {
  static constexpr EventTag tag{905, 1, "PayloadRedacted"};
  Position redacted_position = 0;  // position of the redacted record
  Digest payload_digest;
  Digest replacement_digest;
  KeptText event;    // name of the redacted record's event
  KeptTexts fields;  // the fields that were blanked, see free_text.h
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
