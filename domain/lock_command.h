// Commands about locks. A part of command.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>

#include "domain/ids.h"

namespace signalbox {

// What a run root's `.lock` says at the moment of an acquire.
struct FoundLockFile {
  enum class Kind : std::uint8_t {
    none,
    known,    // of a lock that this log granted: the log says what became of it
    foreign,  // of an owner that this log doesn't know
    stale,    // it can't be read as a lock
  };
  Kind kind = Kind::none;
  std::string path;
  std::string owner;               // foreign
  std::string reason;              // foreign: of the lock
  std::int64_t expires_at_ns = 0;  // foreign; UTC
  std::string problem;             // stale: why
  Digest digest;                   // foreign, stale: of what is there
};

struct AcquireLock {
  std::string key;
  std::string owner;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> reason;
  std::optional<std::string> run_root;  // absolute
  std::optional<std::int64_t> wait_ms;
  // false: a lock that the owner holds already is held as by any other. For those whose name may
  // be another's, too: both would take the lock for theirs. Else that hold is extended.
  std::optional<bool> extend = {};

  FoundLockFile file;
};
BOOST_DESCRIBE_STRUCT(AcquireLock, (), (key, owner, lease_ms, reason, run_root, wait_ms, extend))

// Whether `command` extends a hold of `owner`, instead of being kept off by it.
inline bool extends_hold_of(const AcquireLock& command, const std::string& owner) {
  return owner == command.owner && command.extend.value_or(true);
}

// Whether somebody who takes locks by a `.lock` file alone holds what `command` asks for. All that
// is known of such a lease is a time on the wall clock. Not only decide() asks: who takes over an
// expired lock has to know it before, for what ends then must not count as the result of a command
// that is refused.
inline bool is_held_by_file(const AcquireLock& command, std::int64_t wall_ns) {
  const FoundLockFile& file = command.file;
  return file.kind == FoundLockFile::Kind::foreign && !extends_hold_of(command, file.owner) &&
         wall_ns < file.expires_at_ns;
}

struct RefreshLock {
  std::string key;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;

  std::string token_owner;  // who was granted this token, as the log tells; or empty
};
BOOST_DESCRIBE_STRUCT(RefreshLock, (), (key, token, lease_ms))

struct ReleaseLock {
  std::string key;
  Token token = 0;

  std::string token_owner;  // as in RefreshLock
};
BOOST_DESCRIBE_STRUCT(ReleaseLock, (), (key, token))

// The service's own; no client can send them.

// The lease of `token` ran out, unless it was renewed after `renewed_at`.
struct ExpireLock {
  std::string key;
  Token token = 0;
  Position renewed_at = 0;
};

// A refresh was refused: that is worth an event, once for each streak of an owner.
struct NoteRefreshFailure {
  std::string key;
  Token token = 0;
  std::string token_owner;
};

}  // namespace signalbox
