// Tests files whose names differ by case only, in a repository from a system where that is nothing.
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class NameCaseTest : public WorkOfAnAgent {};

// Git would take FILE.txt for file.txt, which isn't there, and commit that one's deletion alone.
TEST_F(NameCaseTest, AFileThatIsRenamedByCaseIsNotLost) {  // A1
  run("config core.ignorecase true", repository);
  const auto worked = [this] {
    const Job job = begun();
    fs::remove(workspace_of(job) / "file.txt");
    write_text(workspace_of(job) / "FILE.txt", "two\n");
    return job;
  };
  const Job proposed = worked();
  const JobResult result = end_of(next(proposed, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(proposed) + ":FILE.txt", repository), "two");
  EXPECT_FALSE(git(repository, {"show", branch_of_run(proposed) + ":file.txt"}).ok);
  const RemovalOutcome outcome = remove_worktree(removal_of(worked()));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":FILE.txt", repository), "two");
}

}  // namespace
}  // namespace signalbox
