// BoardFiles over the real file system and git.
#pragma once

#include <filesystem>
#include <functional>

#include "server/board/board_files.h"

namespace signalbox {

class GitBoardFiles final : public BoardFiles {
 public:
  // Returns whether a job of the run (its id as text) is under way here. Any thread.
  using HasJob = std::function<bool(const std::string& run_id)>;

  // Returns the machine of another server that has worked on the run; empty: there is none. Error:
  // why nobody can tell. May block. Any thread but the engine's.
  using FindOtherMachine =
      std::function<tl::expected<std::string, std::string>(const RunId& run_id)>;

  // `runs_directory` contains the worktrees: `<run id>/<name>`. Without `find_other_machine` all
  // are here.
  GitBoardFiles(std::filesystem::path runs_directory, HasJob has_job,
                FindOtherMachine find_other_machine = nullptr);

  Stored<std::shared_ptr<const PolicyReading>> read_policy(const std::filesystem::path& repository,
                                                           const std::string& base,
                                                           std::int64_t now_ns) override;
  NoteWorktree remove_worktree(const CardWorktree& worktree, bool is_handed_on) override;
  bool has_worktree(const CardWorktree& worktree) override;
  tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path& repository) override;
  // A job of a run that the log doesn't have may be under way, such as after a restore of an older
  // log: its worktree is left.
  tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string& project, const std::filesystem::path& repository,
      const std::set<std::string>& run_ids) override;

 private:
  // Returns why a run's worktree may be on the disk of another server, such as of one that had a
  // cell's log before; empty if it is, or was, on this one. `path` is the worktree's by git's list,
  // or empty.
  [[nodiscard]] std::string elsewhere(const RunId& run_id, const std::filesystem::path& path) const;
  [[nodiscard]] std::filesystem::path pins_of(const std::string& run_id) const;

  const std::filesystem::path runs_directory_;
  const HasJob has_job_;
  const FindOtherMachine find_other_machine_;
  PolicyReader policies_;
};

}  // namespace signalbox
