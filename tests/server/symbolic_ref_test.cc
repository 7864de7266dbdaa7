// Tests that no branch is moved or removed that a ref of a run leads to: an agent can make a
// symbolic ref of each.
#include "server/git/run_branch_removal.h"
#include "server/git/run_refs.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

class SymbolicRefTest : public WorkOfAnAgent {
 protected:
  void SetUp() override {
    WorkOfAnAgent::SetUp();
    run("branch theirs", repository);
  }
  // Makes the ref lead to the branch of somebody else.
  void link(const std::string& ref) const {
    run("symbolic-ref " + ref + " refs/heads/theirs", repository);
  }
  void expect_unmoved() const {
    EXPECT_TRUE(git(repository, {"diff", "--exit-code", "--quiet", "main", "theirs"}).ok);
    EXPECT_EQ(run("rev-list --count main..theirs", repository), "0");
  }
};

TEST_F(SymbolicRefTest, TheCommitOfCreatePrMovesOnlyTheRunsBranch) {  // A1
  const Job job = begun();
  link("refs/heads/" + branch_of_run(job));
  write_text(workspace_of(job) / "new.txt", "new\n");
  const JobResult result = end_of(next(job, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(job) + ":new.txt", repository), "new");
  expect_unmoved();
}

TEST_F(SymbolicRefTest, NeitherDoesTheRemovalOfItsWorktree) {  // A1
  const Job job = begun();
  const std::string id = to_string(job.run_id);
  link("refs/signalbox/rescue/" + id);
  link("refs/signalbox/base/" + id);
  write_text(workspace_of(job) / "new.txt", "new\n");
  const RemovalOutcome outcome = remove_worktree(removal_of(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":new.txt", repository), "new");
  expect_unmoved();
}

TEST_F(SymbolicRefTest, ARefThatIsRemovedTakesNoOtherWithIt) {  // A1, A15
  const Job job = begun();
  const std::string branch = branch_of_run(job);
  ASSERT_EQ(remove_worktree(removal_of(job)).result, Removal::removed);
  link("refs/heads/" + branch);
  EXPECT_EQ(remove_merged_branch(repository, branch, /*is_dry=*/false).result,
            BranchRemoval::removed);
  expect_unmoved();
  link("refs/heads/" + branch);
  const auto refs = list_run_refs(repository, site.root());
  ASSERT_TRUE(refs) << refs.error();
  ASSERT_EQ(refs->size(), 1U);
  EXPECT_TRUE(remove_run_refs(repository, *refs, /*is_dry=*/false).empty());
  expect_unmoved();
  EXPECT_TRUE(list_run_refs(repository, site.root()).value().empty());
}

}  // namespace
}  // namespace signalbox
