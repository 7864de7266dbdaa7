// Tests what create_pr and the removal do with a worktree whose index an agent has removed.
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class MissingIndexTest : public WorkOfAnAgent {};

// Without an index, git would take a tracked file that .gitignore names for an ignored one.
TEST_F(MissingIndexTest, ADeletedIndexLosesNoTrackedFile) {  // A1
  write_text(repository / "kept.log", "one\n");
  run("add --all", repository);
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "a tracked file that is ignored");
  const auto worked = [this] {
    const Job job = begun();
    write_text(workspace_of(job) / "kept.log", "two\n");
    fs::remove(fs::path(run("rev-parse --absolute-git-dir", workspace_of(job))) / "index");
    return job;
  };
  const Job proposed = worked();
  const JobResult result = end_of(next(proposed, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(proposed) + ":kept.log", repository), "two");
  const RemovalOutcome outcome = remove_worktree(removal_of(worked()));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":kept.log", repository), "two");
}

}  // namespace
}  // namespace signalbox
