// Reads HEARTBEAT.md of many repositories repeatedly, and caches it: an unchanged file isn't read
// again.
//
// In a bare repository the file is that of the base branch's last commit; else the one in the
// directory, committed or not.
//
// A change is detected by times, size and inode: of the file or, in a bare repository, of the files
// that hold the branch. File times are coarse, so a change may leave them equal. Therefore a file
// that was changed less than policy_settled_ns before it was read is read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "domain/policy.h"
#include "server/board/policy_file.h"
#include "store/store_error.h"

namespace signalbox {

// Decides which reading of a file is whole, if others may rewrite the file in its place meanwhile.
class WholeReading {
 public:
  // Takes the next reading of the same file, and returns whether its text is whole: the file's
  // attributes were the same before and after. If the file is young, attributes don't show each
  // change of it, so it must also have been read alike the time before.
  bool is_whole(const std::string& text, bool changed_meanwhile, bool is_young) {
    const bool is_alike = previous_ == text;
    previous_ = changed_meanwhile ? std::nullopt : std::optional(text);
    return !changed_meanwhile && (!is_young || is_alike);
  }

 private:
  std::optional<std::string> previous_;
};

inline constexpr const char* policy_file_name = "HEARTBEAT.md";
inline constexpr std::int64_t policy_settled_ns = 2'000'000'000;
// After git failed in a bare repository, its error is returned for this time, unless the branch
// changes.
inline constexpr std::int64_t policy_failure_kept_ns = 60'000'000'000;

// The content of a policy's file at one time.
struct PolicyReading {
  bool is_there = false;  // false: no file; the policy is the default, and the digest is zero
  std::string text;
  Digest digest;  // SHA-256 of the text
  tl::expected<Policy, LineError> policy = Policy{};
  std::vector<LineError> warnings;  // lines that were ignored, at most policy_warnings_max
};

// Used on threads that may block: changed bare repositories are read with git()
// (server/git/git_command.h). Different repositories may be read at the same time, one repository
// by one thread at a time.
class PolicyReader {
 public:
  PolicyReader();
  PolicyReader(const PolicyReader&) = delete;
  PolicyReader& operator=(const PolicyReader&) = delete;
  ~PolicyReader();

  // Returns the current content of the policy's file; the same pointer as before if it didn't
  // change. `repository` is absolute, `base` is a branch's name ("main"), and `now_ns` is the time
  // on the clock that file times are from. Errors, which are never treated as a missing file: the
  // repository or its branch doesn't exist, or the file can't be read, isn't a regular file, has
  // more than policy_file_bytes_max bytes, or is changed each time that it is read. Blocks.
  Stored<std::shared_ptr<const PolicyReading>> read(const std::filesystem::path& repository,
                                                    const std::string& base, std::int64_t now_ns);

  // Returns how often a file's content was read or git was called.
  [[nodiscard]] std::size_t reads() const;

 private:
  struct Known;

  static bool is_unchanged(const std::filesystem::path& repository, const std::string& base,
                           const Known& known);

  // Returns the cache entry of a repository; a thread uses it without the mutex.
  Known& known_of(const std::filesystem::path& repository);

  mutable std::mutex mutex_;                                       // guards known_ and reads_
  std::unordered_map<std::string, std::unique_ptr<Known>> known_;  // by repository
  std::shared_ptr<const PolicyReading> none_;
  std::size_t reads_ = 0;
};

}  // namespace signalbox
