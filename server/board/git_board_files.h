// BoardFiles over the real file system and git.
#pragma once

#include <filesystem>

#include "server/board/board_files.h"

namespace signalbox {

class GitBoardFiles final : public BoardFiles {
 public:
  // `runs_directory` contains the worktrees: `<run id>/<name>`.
  explicit GitBoardFiles(std::filesystem::path runs_directory);

  Stored<std::shared_ptr<const PolicyReading>> read_policy(const std::filesystem::path& repository,
                                                           const std::string& base,
                                                           std::int64_t now_ns) override;
  NoteWorktree remove_worktree(const CardWorktree& worktree, bool is_handed_on) override;
  bool has_worktree(const CardWorktree& worktree) override;
  tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path& repository) override;
  tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string& project, const std::filesystem::path& repository,
      const std::set<std::string>& run_ids) override;

 private:
  const std::filesystem::path runs_directory_;
  PolicyReader policies_;
};

}  // namespace signalbox
