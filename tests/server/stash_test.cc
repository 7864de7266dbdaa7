// Tests that create_pr names what an agent has put aside and forgotten.
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

class StashTest : public WorkOfAnAgent {
 protected:
  void SetUp() override {
    WorkOfAnAgent::SetUp();
    set_identity(repository);
  }
};

TEST_F(StashTest, WhatWasPutAsideOnTheRunsBranchIsNamed) {  // A1
  const Job job = begun();
  write_text(workspace_of(job) / "new.txt", "precious\n");
  run("stash push --quiet --include-untracked", workspace_of(job));
  const std::string stash = run("rev-parse refs/stash", repository);
  const JobResult nothing = end_of(next(job, "create_pr"));
  EXPECT_EQ(nothing.failure.code, "NOTHING_TO_PROPOSE");
  const std::string command = "`git -C " + repository.string() + " stash show --include-untracked ";
  EXPECT_NE(nothing.failure.message.find(command + stash.substr(0, 12) + "`"), std::string::npos)
      << nothing.failure.message;
  write_text(workspace_of(job) / "file.txt", "two\n");
  const JobResult proposed = end_of(next(job, "create_pr", 2));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_NE(proposed.result.summary.find("git stash"), std::string::npos)
      << proposed.result.summary;
}

// Git names the branch that HEAD was on; before 2.36 the last part of its name.
TEST_F(StashTest, WhatWasPutAsideElsewhereInTheWorktreeIsNamed) {  // A1
  const auto put_aside = [this](const Job& job) {
    write_text(workspace_of(job) / "new.txt", "precious\n");
    run("stash push --quiet --include-untracked", workspace_of(job));
  };
  const auto expect_named = [this](const Job& job) {
    const std::string stash = run("rev-parse refs/stash", repository);
    write_text(workspace_of(job) / "file.txt", "two\n");
    const JobResult proposed = end_of(next(job, "create_pr"));
    ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
    EXPECT_NE(proposed.result.summary.find(stash.substr(0, 12) + "`"), std::string::npos)
        << proposed.result.summary;
  };
  const Job detached = begun();
  run("checkout --quiet --detach", workspace_of(detached));
  put_aside(detached);
  expect_named(detached);

  const Job own = begun();
  run("checkout --quiet -b agents/own", workspace_of(own));
  put_aside(own);
  run("checkout --quiet " + branch_of_run(own), workspace_of(own));
  expect_named(own);

  const Job committed = begun();
  run("checkout --quiet -b agents/further", workspace_of(committed));
  write_text(workspace_of(committed) / "first.txt", "first\n");
  commit_all(workspace_of(committed), "first");
  put_aside(committed);
  expect_named(committed);

  const Job older = begun();
  write_text(workspace_of(older) / "file.txt", "precious\n");
  const std::string stash = run("stash create", workspace_of(older));
  const std::string branch = branch_of_run(older);
  run_git(repository,
          {"stash", "store", "--message",
           "WIP on " + branch.substr(branch.rfind('/') + 1) + ": 0123456 first", stash});
  expect_named(older);
}

TEST_F(StashTest, WhatOthersPutAsideIsNot) {  // A1
  write_text(repository / "file.txt", "the owner's\n");
  run("stash push --quiet", repository);
  const Job another = begun();
  run("checkout --quiet -b others", workspace_of(another));
  write_text(workspace_of(another) / "file.txt", "another's\n");
  run("stash push --quiet", workspace_of(another));
  const Job job = begun();
  run("checkout --quiet --detach", workspace_of(job));  // it was where they began
  write_text(workspace_of(job) / "file.txt", "two\n");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(proposed.result.summary.find("stash"), std::string::npos) << proposed.result.summary;
}

}  // namespace
}  // namespace signalbox
