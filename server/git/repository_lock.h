// One worktree operation at a time in a repository, whichever processes want one: built-in stations
// are processes of their own, and the server removes worktrees itself.
//
// It is a lock on the file signalbox-worktree.lock in the repository's common git directory; the
// system lets go of it when its holder ends, however it ends. git doesn't inherit it.
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
  // `repository` is any work tree of it, or the bare one itself. Blocks for at most `wait_ms`;
  // then, or where there is no such repository, a sentence that says so.
  static tl::expected<RepositoryLock, std::string> take(
      const std::filesystem::path& repository,
      std::int64_t wait_ms = limits::repository_wait_ms_max);

 private:
  explicit RepositoryLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

// The git directory that all worktrees of a repository share, without links; empty where
// `directory` is in no repository.
std::filesystem::path common_git_directory(const std::filesystem::path& directory);

}  // namespace signalbox
