// Commands about locks: the alternatives of Command (command.h) that concern locks, and what an
// acquire finds in a run root's `.lock` file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"

namespace signalbox {

// The content of a run root's `.lock` at the moment of an acquire.
struct FoundLockFile {
  enum class Kind : std::uint8_t {
    none,
    known,    // written for a lock that this log granted: the log has its state
    foreign,  // written by an owner that this log doesn't know
    stale,    // not readable as a lock
  };
  Kind kind = Kind::none;
  std::string path;
  std::string owner;               // foreign
  std::string reason;              // foreign: why it holds the lock
  std::int64_t expires_at_ns = 0;  // foreign; UTC
  std::string problem;             // stale: why it isn't readable
  Digest digest;                   // foreign, stale: of the file
};

struct AcquireLock {
  std::string key;
  std::string owner;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> reason;
  std::optional<std::string> run_root;  // absolute
  std::optional<std::int64_t> wait_ms;
  // Renew a lock that the same owner holds already; default: true. With false the command is
  // refused as if another owner held it. For callers whose owner name isn't unique: otherwise two
  // of them would believe that they hold the lock.
  std::optional<bool> extend = {};

  FoundLockFile file;
};
BOOST_DESCRIBE_STRUCT(AcquireLock, (), (key, owner, lease_ms, reason, run_root, wait_ms, extend))

// Returns whether `command` renews a lock held by `owner` instead of being refused.
inline bool extends_hold_of(const AcquireLock& command, const std::string& owner) {
  return owner == command.owner && command.extend.value_or(true);
}

// Returns whether a holder that takes locks by the `.lock` file alone holds what `command` asks
// for. The lease of such a holder is a time on the wall clock. The caller that takes over an
// expired lock asks before decide() does: if the acquire is going to be refused, the LockExpired
// must not be committed as its result.
inline bool is_held_by_file(const AcquireLock& command, std::int64_t wall_ns) {
  const FoundLockFile& file = command.file;
  return file.kind == FoundLockFile::Kind::foreign && !extends_hold_of(command, file.owner) &&
         wall_ns < file.expires_at_ns;
}

struct RefreshLock {
  std::string key;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;

  std::string token_owner;  // the owner that was granted this token, read from the log; or empty
};
BOOST_DESCRIBE_STRUCT(RefreshLock, (), (key, token, lease_ms))

struct ReleaseLock {
  std::string key;
  Token token = 0;

  std::string token_owner;  // as in RefreshLock
};
BOOST_DESCRIBE_STRUCT(ReleaseLock, (), (key, token))

// Sent by the service itself; no client can send them.

// Ends the lease of `token`, unless it was renewed after `renewed_at`.
struct ExpireLock {
  std::string key;
  Token token = 0;
  Position renewed_at = 0;
};

// Records that a refresh was refused. It leads to one event per streak of an owner.
struct NoteRefreshFailure {
  std::string key;
  Token token = 0;
  std::string token_owner;
};

}  // namespace signalbox
