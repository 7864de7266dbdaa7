// The lock that allows one worktree operation at a time in a repository, across processes: built-in
// stations are processes of their own, and the server removes worktrees itself.
//
// It is an flock(2) on the file signalbox-worktree.lock in the repository's common git directory.
// The kernel releases it when the holder and every git that it started meanwhile have ended, for
// whatever reason: a `git worktree remove` that outlives a killed server would otherwise take away
// what the next holder makes, since git uses the names of its records again. A git that may run
// hooks or filters doesn't hold it, since they may leave processes behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <tl/expected.hpp>

#include "server/limits.h"
#include "store/file_descriptor.h"

namespace signalbox {

class RepositoryLock {
 public:
  // Acquires the lock. `repository` is one of the repository's work trees, or a bare repository.
  // Blocks for at most `wait_ms`. Error: a sentence, if the time is over or there is no such
  // repository.
  static tl::expected<RepositoryLock, std::string> take(
      const std::filesystem::path& repository,
      std::int64_t wait_ms = limits::repository_wait_ms_max);

  RepositoryLock(RepositoryLock&&) = default;
  RepositoryLock& operator=(RepositoryLock&&) = delete;
  ~RepositoryLock();

  // Returns the descriptor of the lock that this thread holds; -1 if it holds none.
  static int held_descriptor();

 private:
  explicit RepositoryLock(FileDescriptor file);

  FileDescriptor file_;
};

// Returns the git directory that all worktrees of the repository share, with links resolved.
// Returns an empty path if `directory` is in no repository. Blocks on git.
std::filesystem::path common_git_directory(const std::filesystem::path& directory);

}  // namespace signalbox
