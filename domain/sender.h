// The sender of a command, as far as decisions depend on it: which tokens it may use.
//
// A token is the position of the event that granted it, which everybody who reads the log knows. So
// a token proves nothing by itself: it is accepted from the principal that it was granted to
// (World::holders), from a job for its own attempt, and from an admin.
#pragma once

#include <string_view>

#include "domain/error.h"
#include "domain/ids.h"

namespace signalbox {

struct AcquireLock;
struct Lock;
struct World;

struct Sender {
  std::string_view actor = {};  // as records name it; outlives the decision
  // The service itself, or an admin: may use every token.
  bool acts_for_all = true;
  Token job_token = 0;  // of the attempt under way whose job the sender is, or 0
  // Name under which the sender's tokens were granted before an upgrade gave it another one; empty:
  // none. Outlives the decision.
  std::string_view former_actor = {};
};

// Returns whether `by` may use `token`, which is granted at present. A token whose holder isn't
// known, because an older version dropped the record of its grant, may be used by everybody.
bool may_use(const World& world, Token token, const Sender& by);

// Returns whether `command` renews `lock`, instead of being refused.
bool renews(const World& world, const AcquireLock& command, const Lock& lock, const Sender& by);

// FORBIDDEN unless may_use().
Decided<void> require_holder(const World& world, Token token, const Sender& by);

}  // namespace signalbox
