// Tests that all commits of a run's branch that create_pr leaves out are kept, however often.
#include "server/git/left_out_refs.h"

#include "server/git/unsaved_work.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

class LeftOutRefsTest : public WorkOfAnAgent {
 protected:
  // Commits the file on the run's branch, and leaves the branch for one that has none of it.
  JobResult leave(const Job& job, const std::string& file, int attempt) {
    run("checkout --quiet " + branch_of_run(job), workspace_of(job));
    write_text(workspace_of(job) / file, "left\n");
    commit_all(workspace_of(job), file);
    run("checkout --quiet theirs", workspace_of(job));
    write_text(workspace_of(job) / ("new-" + file), "new\n");
    return end_of(next(job, "create_pr", attempt));
  }
};

TEST_F(LeftOutRefsTest, EachTipHasARefOfItsOwnThatStays) {  // A1
  run("branch theirs", repository);
  const Job intake = begun();
  const std::string first = rescue_ref_of(to_string(intake.run_id)) + "-branch";
  const std::string second = first + "-2";
  ASSERT_EQ(leave(intake, "one.txt", 1).outcome, Outcome::succeeded);
  const std::string kept = run("rev-parse " + first, repository);
  const JobResult result = leave(intake, "two.txt", 2);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-parse " + first, repository), kept);
  EXPECT_EQ(run("show " + first + ":one.txt", repository), "left");
  EXPECT_EQ(run("show " + second + ":two.txt", repository), "left");
  EXPECT_NE(result.result.summary.find(first + "."), std::string::npos) << result.result.summary;
  EXPECT_NE(result.result.summary.find(second + "."), std::string::npos) << result.result.summary;

  const JobResult again = end_of(next(intake, "create_pr", 3));
  EXPECT_NE(again.result.summary.find(second + "."), std::string::npos) << again.result.summary;
  EXPECT_EQ(left_out_refs(repository, {}, to_string(intake.run_id))->size(), 2U);
}

TEST_F(LeftOutRefsTest, ACommitThatOneOfThemHasGetsNone) {  // A1
  const std::string id = to_string(begun().run_id);
  const std::string before = run("rev-parse HEAD", repository);
  commit_all(repository, "second");
  const std::string commit = run("rev-parse HEAD", repository);
  ASSERT_TRUE(keep_left_out(repository, {}, id, commit));
  ASSERT_TRUE(keep_left_out(repository, {}, id, commit));
  ASSERT_TRUE(keep_left_out(repository, {}, id, before));
  ASSERT_EQ(left_out_refs(repository, {}, id)->size(), 1U);
  EXPECT_EQ(left_out_refs(repository, {}, id)->front().commit, commit);
}

}  // namespace
}  // namespace signalbox
