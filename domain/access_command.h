// Commands about access tokens, denied requests and the audit key: the alternatives of Command
// (command.h) that concern access.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/access.h"
#include "domain/ids.h"

namespace signalbox {

struct IssueAccessToken {
  std::string name;
  Role role = Role::viewer;
  std::optional<std::int64_t> expires_in_ms;

  Uuid id{};
  Digest secret_sha256;
};
BOOST_DESCRIBE_STRUCT(IssueAccessToken, (), (name, role, expires_in_ms))

struct RevokeAccessToken {
  Uuid id{};
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(RevokeAccessToken, (), (id, reason))

struct AdoptAuditKey {
  std::string verifier_key;

  std::string name;  // the key name inside `verifier_key`
};
BOOST_DESCRIBE_STRUCT(AdoptAuditKey, (), (verifier_key))

// Sent by the service itself; no client can send them.

// Records that a request was refused because of the caller's role or identity. It leads to one
// event per streak.
struct NoteAccessDenied {
  std::string actor;
  std::string method;
  std::optional<Role> role;  // of the caller; none: not authenticated
  Role needs = Role::viewer;
};

}  // namespace signalbox
