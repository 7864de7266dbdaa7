// Simulates the repositories of projects as the loops of the board see them: policy files that
// their owners change at any time, and worktrees that jobs make and the service removes. They
// outlive every life of the server.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "server/board/board_files.h"
#include "server/executors/executor.h"
#include "tests/simulation/any_settings.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class SimulatedRepositories final : public BoardFiles {
 public:
  explicit SimulatedRepositories(Environment& environment) : environment_(environment) {}

  // For owners.

  // Replaces the policy file of the repository.
  void write_policy(const std::string& repository, const PolicyDraft& draft);

  // For the machine: notes that a job has begun to work in a worktree of its run. A run that goes
  // on still has the one that it had.
  void begin_worktree(const Job& job);

  // For the service.

  Decided<void> check(const PutProject& command);
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
  // Returns how long the next access takes.
  [[nodiscard]] std::int64_t duration_ns();

  // For audits.

  // Sets the function that returns whether the log has a run as open.
  void when_asked_for_open_runs(std::function<bool(const RunId&)> is_open) {
    is_open_ = std::move(is_open);
  }
  // Returns the draft with this digest, or nullptr if nobody ever wrote it.
  [[nodiscard]] const PolicyDraft* find_draft(const Digest& digest) const;
  // Returns true if one of the service's last few reads of the repository's policy gave this
  // digest: that of the file, that of the error, or zero for no file.
  [[nodiscard]] bool was_read_lately(const std::string& repository, const Digest& digest) const;
  // Returns true if the run has no worktree, or one that was reported as not removable.
  [[nodiscard]] bool is_accounted_for(const RunId& run_id) const;

 private:
  struct Worktree {
    std::string repository;
    bool is_left = false;  // it can't be removed, and that was reported
  };
  struct Repository {
    std::string text;  // of the policy; empty if there is none
    std::deque<Digest> shown_digests;
  };

  NoteWorktree remove(const std::string& project, const RunId& run_id);
  Digest note_shown(Repository& repository, const Digest& digest);

  Environment& environment_;
  std::map<std::string, Repository> repositories_;  // by path
  std::map<Digest, PolicyDraft> drafts_;
  std::map<RunId, Worktree> worktrees_;
  std::set<RunId> removed_;  // runs whose worktree is gone
  std::function<bool(const RunId&)> is_open_;
  bool is_read_once_ = false;  // for a mutant
};

}  // namespace signalbox::simulation
