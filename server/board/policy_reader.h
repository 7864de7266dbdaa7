// Reads HEARTBEAT.md of many repositories, again and again: what didn't change since isn't read.
//
// In a bare repository it is the file of the base branch's last commit; else the one that lies in
// the directory, committed or not.
//
// Whether something changed is told by times, size and inode (of the file; of a bare repository, of
// what holds the branch). Times of files are coarse, so a change can leave them as they are: what
// was changed less than policy_settled_ns before it was read is read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "domain/policy.h"
#include "server/board/policy_file.h"
#include "store/store_error.h"

namespace signalbox {

inline constexpr const char* policy_file_name = "HEARTBEAT.md";
inline constexpr std::int64_t policy_settled_ns = 2'000'000'000;
// So long a bare repository whose branch didn't change isn't asked again after git failed.
inline constexpr std::int64_t policy_failure_kept_ns = 60'000'000'000;

// One state of a policy's file.
struct PolicyReading {
  bool is_there = false;  // else the policy is the default, and the digest is zero
  std::string text;
  Digest digest;  // SHA-256 of the text
  tl::expected<Policy, LineError> policy = Policy{};
};

// One thread, one that may call git() (executors/git_command.h), which it does for bare
// repositories that changed.
class PolicyReader {
 public:
  PolicyReader();
  PolicyReader(const PolicyReader&) = delete;
  PolicyReader& operator=(const PolicyReader&) = delete;
  ~PolicyReader();

  // The policy's file as it is now. The same pointer as before: nothing changed. `repository` is
  // absolute, `base` the name of a branch ("main"), `now_ns` the clock that files' times are from.
  // Errors (never taken for "there is none"): the repository or its branch isn't there, the file
  // can't be read, is no regular file, or has more than policy_file_bytes_max bytes.
  Stored<std::shared_ptr<const PolicyReading>> read(const std::filesystem::path& repository,
                                                    const std::string& base, std::int64_t now_ns);

  // Of a project that is gone.
  void forget(const std::filesystem::path& repository);

  // How often it read a file's content or asked git.
  [[nodiscard]] std::size_t reads() const { return reads_; }

 private:
  struct Known;

  static bool is_unchanged(const std::filesystem::path& repository, const std::string& base,
                           const Known& known);

  std::unordered_map<std::string, std::unique_ptr<Known>> known_;  // by repository
  std::shared_ptr<const PolicyReading> none_;
  std::size_t reads_ = 0;
};

}  // namespace signalbox
