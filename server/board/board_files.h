// What the loops of the board need from repositories: policies and worktrees. A rim of its own, so
// that a simulation drives the very same loops over repositories that it only pretends to have.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "domain/board_command.h"
#include "domain/project.h"
#include "server/board/policy_reader.h"
#include "store/store_error.h"

namespace signalbox {

// All calls come from one thread, one that may block.
class BoardFiles {
 public:
  BoardFiles() = default;
  BoardFiles(const BoardFiles&) = delete;
  BoardFiles& operator=(const BoardFiles&) = delete;
  virtual ~BoardFiles() = default;

  // As PolicyReader::read().
  virtual Stored<std::shared_ptr<const PolicyReading>> read_policy(
      const std::filesystem::path& repository, const std::string& base, std::int64_t now_ns) = 0;

  // Removes the worktree of a run that has ended, and tells what became of it; again after a crash
  // at any point.
  virtual NoteWorktree remove_worktree(const CardWorktree& worktree) = 0;

  // The runs, by their ids as text, that have a worktree of the repository. Else a sentence that
  // says why they can't be listed.
  virtual tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path& repository) = 0;

  // Removes those of these runs, which aren't there any more; likewise.
  virtual tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string& project, const std::filesystem::path& repository,
      const std::set<std::string>& run_ids) = 0;
};

}  // namespace signalbox
