// The `.lock` of a run root, read: whose it is, or why it is nobody's.
//
// It is written by the service as a mirror of the log, and by whoever takes locks by the file
// alone. So anything may lie there, and reading it never fails: what can't be read as a lock is
// stale.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "domain/command.h"
#include "server/followers/run_root/found_file.h"
#include "store/event_log.h"

namespace signalbox {

inline constexpr std::size_t lock_file_bytes_max = 64 * 1024;

struct LockFile {
  FoundLockFile found;
  // Of a file that says it is of this log, and is: what it says. Else empty.
  std::string key;
  Token token = 0;
};

// Blocks, as `look` does. Any thread.
LockFile read_lock_file(const std::filesystem::path& run_root, const EventLog& log,
                        const ReadFoundFile& look = read_found_file);

// What the text of a lock file says: `foreign` or `stale`. A lock is a JSON object that tells at
// least an `owner` and when its lease is over: `expires_at`, or `acquired_at` and `lease_ms`.
FoundLockFile parse_lock_file(std::string_view text);

// What `file` means to an acquire of `key`. One that this log granted counts for nothing, since the
// log itself says what became of it; but where it is the mirror of another key's lock, which is
// held, its holder has the run root.
FoundLockFile meaning_of(const LockFile& file, const std::string& key, bool is_held);

}  // namespace signalbox
