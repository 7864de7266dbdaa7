// Fixture for tests of what an agent leaves in its workspace: a run's worktree, and what create_pr
// and its removal do with it.
#pragma once

#include <filesystem>
#include <string>

#include "server/git/run_branch.h"
#include "server/git/worktree_removal.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {

class WorkOfAnAgent : public BuiltinStations {
 protected:
  // Makes a run's worktree with the station intake; returns the job.
  Job begun() {
    const Job job = builtin("intake");
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job;
  }
  static std::string branch_of_run(const Job& job) { return branch_of(job.run_id, job.run_token); }
  RemovalRequest removal_of(const Job& job) const {
    return {repository, workspace_of(job), to_string(job.run_id),
            site.root() / "workspaces" / to_string(job.run_id), branch_of_run(job)};
  }
  // Makes a repository with one commit in the workspace.
  static std::filesystem::path nested_in(const Job& job, const std::string& name) {
    return make_repository(workspace_of(job) / name, {{"precious.txt", "work\n"}});
  }
  void expect_refused(const JobResult& result, const std::string& name) const {
    EXPECT_EQ(result.failure.code, "NESTED_REPOSITORY") << result.failure.message;
    EXPECT_EQ(result.failure.error_class, ErrorClass::terminal);
    EXPECT_NE(result.failure.message.find(name), std::string::npos) << result.failure.message;
  }
  // Commits a submodule at "lib" to the repository.
  void add_submodule() {
    const std::filesystem::path library =
        make_repository(site.root() / "library", {{"lib.txt", "lib\n"}, {".gitignore", "*.log\n"}});
    commit_submodule(repository, library, "lib");
  }
};

}  // namespace signalbox
