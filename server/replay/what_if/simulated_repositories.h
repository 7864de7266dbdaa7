// The projects' repositories in a simulation: policies are the recorded ones with the what-if
// policy's changes, and removing a worktree succeeds at once. There are no files.
#pragma once

#include "server/board/board_files.h"
#include "server/replay/what_if/recorded_work.h"
#include "server/replay/what_if/what_if_policy.h"

namespace signalbox {

class SimulatedRepositories final : public BoardFiles {
 public:
  SimulatedRepositories(const RecordedWork& work, const WhatIfPolicy& policy)
      : work_(work), policy_(policy) {}

  // Returns the policy that was in force at `now_ns` (UTC), changed. Never fails.
  Stored<std::shared_ptr<const PolicyReading>> read_policy(const std::filesystem::path& repository,
                                                           const std::string& base,
                                                           std::int64_t now_ns) override;
  NoteWorktree remove_worktree(const CardWorktree& worktree, bool) override {
    return {worktree.project, worktree.run_id, {}, true, {}, {}};
  }
  bool has_worktree(const CardWorktree&) override { return false; }
  tl::expected<std::set<std::string>, std::string> runs_with_worktrees(
      const std::filesystem::path&) override {
    return std::set<std::string>{};
  }
  tl::expected<std::vector<NoteWorktree>, std::string> remove_orphans(
      const std::string&, const std::filesystem::path&, const std::set<std::string>&) override {
    return std::vector<NoteWorktree>{};
  }

 private:
  const RecordedWork& work_;
  const WhatIfPolicy& policy_;
};

}  // namespace signalbox
