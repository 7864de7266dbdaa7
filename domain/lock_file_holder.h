// Whether somebody who takes locks by a `.lock` file alone holds what an acquire asks for. Apart
// from decide.h because who takes over an expired lock has to know it before: what ends then must
// not count as the result of a command that is refused.
#pragma once

#include "domain/command.h"

namespace signalbox {

// All that is known of such a lease is a time on the wall clock.
inline bool is_held_by_file(const AcquireLock& command, std::int64_t wall_ns) {
  const FoundLockFile& file = command.file;
  return file.kind == FoundLockFile::Kind::foreign && !extends_hold_of(command, file.owner) &&
         wall_ns < file.expires_at_ns;
}

}  // namespace signalbox
