// Fixture for tests of the removal of worktrees: worktrees of runs, and the requests that remove
// them.
#pragma once

#include <filesystem>
#include <string>

#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_list.h"
#include "server/git/worktree_removal.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {

class WorktreeRemoval : public BuiltinStations {
 protected:
  // Makes a run's worktree with the station intake; returns the job.
  Job worktree() {
    const Job job = builtin("intake");
    EXPECT_EQ(end_of(job).outcome, Outcome::succeeded);
    return job;
  }
  RemovalRequest request_for(const Job& job) const {
    return {repository, workspace_of(job), to_string(job.run_id), pins_of(job),
            branch_of(job.run_id, job.run_token)};
  }
  std::filesystem::path pins_of(const Job& job) const {
    return site.root() / "workspaces" / to_string(job.run_id);
  }
  // Keeps the worktree's work as the removal does.
  tl::expected<std::string, std::string> rescue(const RemovalRequest& request) const {
    const auto pinned = PinnedRepository::open(request.pins, repository);
    return rescue_work(request.path, pinned.value().place_of(request.path).value(), request.run_id,
                       request.branch);
  }
  bool is_listed(const Job& job) const {
    const auto listed = list_worktrees(repository);
    for (const ListedWorktree& each : listed.value()) {
      if (each.path == workspace_of(job)) return true;
    }
    return false;
  }
  std::string shown(const std::string& object) const {
    return git(repository, {"show", object}).output;
  }
  void expect_gone(const Job& job) const {
    EXPECT_FALSE(std::filesystem::exists(workspace_of(job)));
    EXPECT_FALSE(std::filesystem::exists(workspace_of(job).string() + ".removing"));
    EXPECT_FALSE(is_listed(job));
  }
};

}  // namespace signalbox
