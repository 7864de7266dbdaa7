// Reads the `.lock` file of a run root: who holds the lock, or why the file is stale.
//
// The service writes the file as a mirror of the log. Programs that take locks by the file alone
// write it as well. So it may hold anything, and reading never fails: a file that isn't a lock is
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
  // The key and token of a grant in this log that the file matches; else empty and 0.
  std::string key;
  Token token = 0;
};

// Reads run_root/.lock with `read_file` and matches it with the log; found.kind is `none` if there
// is no file. A lock that isn't of this log and was taken after `wall_ns` (UTC, the present time)
// is stale. Blocks. Any thread.
LockFile read_lock_file(const std::filesystem::path& run_root, const EventLog& log,
                        std::int64_t wall_ns, const ReadFoundFile& read_file = read_found_file);

// Parses the text of a lock file; the kind is `foreign` or `stale`. A lock is a JSON object with at
// least an `owner` (or `owner_id`) and the end of its lease: `expires_at`, or `acquired_at` and
// `lease_ms` (or `lease_seconds`).
FoundLockFile parse_lock_file(std::string_view text);

// Returns `file` as it counts for an acquire of `key`; `is_held`: whether the lock that the file
// mirrors is held. A file that mirrors a grant of this log is `known` and doesn't stop the acquire,
// because the log itself has the lock's state. The exception is the mirror of another key's lock
// that is held: its holder has the run root.
FoundLockFile classify_lock_file(const LockFile& file, const std::string& key, bool is_held);

}  // namespace signalbox
