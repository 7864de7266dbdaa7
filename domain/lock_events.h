// Events of a lock: grants, refreshes, ends and failed refreshes. They lie in the lock's stream,
// `lock/<key>`. The transition table is in lock.h.
#pragma once

#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

// A lock was granted. The position of this event is its token.
struct LockAcquired {
  static constexpr EventTag tag{401, 1, "LockAcquired"};
  KeptText key;
  KeptText owner;
  std::int64_t lease_ms = 0;
  FreeText reason;
  KeptText run_root;  // where the lock is mirrored as `.lock`, or empty

  friend bool operator==(const LockAcquired&, const LockAcquired&) = default;
};
BOOST_DESCRIBE_STRUCT(LockAcquired, (), (key, owner, lease_ms, reason, run_root))

// The holder renewed its lease, which starts anew.
struct LockRefreshed {
  static constexpr EventTag tag{402, 1, "LockRefreshed"};
  KeptText key;
  KeptText owner;
  Token token = 0;
  std::int64_t lease_ms = 0;

  friend bool operator==(const LockRefreshed&, const LockRefreshed&) = default;
};
BOOST_DESCRIBE_STRUCT(LockRefreshed, (), (key, owner, token, lease_ms))

struct LockReleased {
  static constexpr EventTag tag{403, 1, "LockReleased"};
  KeptText key;
  KeptText owner;
  Token token = 0;
  KeptText run_root;

  friend bool operator==(const LockReleased&, const LockReleased&) = default;
};
BOOST_DESCRIBE_STRUCT(LockReleased, (), (key, owner, token, run_root))

// The lease ended without a refresh or release by the holder.
struct LockExpired {
  static constexpr EventTag tag{404, 1, "LockExpired"};
  KeptText key;
  KeptText owner;
  Token token = 0;
  KeptText run_root;

  friend bool operator==(const LockExpired&, const LockExpired&) = default;
};
BOOST_DESCRIBE_STRUCT(LockExpired, (), (key, owner, token, run_root))

// A caller tried to refresh or release a lock that it doesn't hold (any more). Recorded once for
// each streak of such failures of an owner.
struct LockRefreshFailed {
  static constexpr EventTag tag{405, 1, "LockRefreshFailed"};
  KeptText key;
  KeptText owner;   // the owner that was granted `token`; empty: unknown
  Token token = 0;  // sent by the caller
  KeptText current_owner;
  Token current_token = 0;

  friend bool operator==(const LockRefreshFailed&, const LockRefreshFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(LockRefreshFailed, (), (key, owner, token, current_owner, current_token))

// A `.lock` file in the run root without a live holder was replaced by that of the next
// LockAcquired.
struct LockFileReplaced {
  static constexpr EventTag tag{406, 1, "LockFileReplaced"};
  KeptText key;
  KeptText path;
  FreeText reason;  // why it didn't count: "empty", "not JSON: …", "expired", …
  Digest digest;    // of the replaced file; zero if it wasn't a regular file

  friend bool operator==(const LockFileReplaced&, const LockFileReplaced&) = default;
};
BOOST_DESCRIBE_STRUCT(LockFileReplaced, (), (key, path, reason, digest))

using LockEvents = std::variant<LockAcquired, LockRefreshed, LockReleased, LockExpired,
                                LockRefreshFailed, LockFileReplaced>;
using LockEvent = OneOf<LockEvents>;

}  // namespace signalbox
