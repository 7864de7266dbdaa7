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

TEST_F(StashTest, WhatOthersPutAsideIsNot) {  // A1
  write_text(repository / "file.txt", "the owner's\n");
  run("stash push --quiet", repository);
  const Job job = begun();
  write_text(workspace_of(job) / "file.txt", "two\n");
  const JobResult proposed = end_of(next(job, "create_pr"));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_EQ(proposed.result.summary.find("stash"), std::string::npos) << proposed.result.summary;
}

}  // namespace
}  // namespace signalbox
