// Commands about access. A part of command.h.
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

  std::string name;  // the one in it
};
BOOST_DESCRIBE_STRUCT(AdoptAuditKey, (), (verifier_key))

// The service's own; no client can send them.

// A request was refused for who asked: that is worth an event, once for each streak.
struct NoteAccessDenied {
  std::string actor;
  std::string method;
  std::optional<Role> role;  // none: it wasn't known who they are
  Role needs = Role::viewer;
};

}  // namespace signalbox
