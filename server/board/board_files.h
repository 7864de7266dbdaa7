// The interface by which the loops of the board use repositories: policies and worktrees. It is
// separate, so that the simulator drives the same loops over simulated repositories.
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

// Calls may block, so none comes from the engine thread. Calls about different repositories may
// come at the same time.
class BoardFiles {
 public:
  BoardFiles() = default;
  BoardFiles(const BoardFiles&) = delete;
  BoardFiles& operator=(const BoardFiles&) = delete;
  virtual ~BoardFiles() = default;

  // Returns the policy of a repository, as PolicyReader::read() does.
  virtual Stored<std::shared_ptr<const PolicyReading>> read_policy(
      const std::filesystem::path& repository, const std::string& base, std::int64_t now_ns) = 0;

  // Removes the worktree of a run that has ended, after keeping what no ref has. If the work
  // `is_handed_on`, commits that only the run's branch has are kept by the rescue ref, too: the
  // card's next run is given that one. Returns the command that records the result. May be repeated
  // after a crash at any point.
  virtual NoteWorktree remove_worktree(const CardWorktree& worktree, bool is_handed_on) = 0;

  // Returns whether the worktree of the run is where its stations look for it.
  virtual bool has_worktree(const CardWorktree& worktree) = 0;

  // Returns the ids (as text) of the runs that have a worktree of the repository. The error is a
  // sentence that says why they can't be listed.
  virtual tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path& repository) = 0;

  // Removes the worktrees of `run_ids`, which are runs that are over for good. Returns the commands
  // that record the results. The error is a sentence.
  virtual tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string& project, const std::filesystem::path& repository,
      const std::set<std::string>& run_ids) = 0;
};

}  // namespace signalbox
