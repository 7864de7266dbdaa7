// Tests what run_change() shows of a worktree while an agent works in it.
#include "server/board/run_change.h"

#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

class ChangeOfAWorktree : public BuiltinStations {
 protected:
  // Makes a run's worktree with the station intake; returns the job.
  Job begun() {
    const Job job = builtin("intake");
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job;
  }
  RunChange change_of(const Job& job) const {
    const RunChangePlace place{job.run_id, job.run_token, repository, workspace_of(job),
                               site.root() / "workspaces" / to_string(job.run_id)};
    const auto change = run_change(place, {});
    EXPECT_TRUE(change.has_value()) << change.error();
    return change && *change ? **change : RunChange{};
  }
};

TEST_F(ChangeOfAWorktree, RepositoriesInItAreNoObstacle) {  // A1, O2
  const Job job = begun();
  const std::filesystem::path workspace = workspace_of(job);
  write_text(workspace / "new.txt", "new\n");
  std::filesystem::create_directories(workspace / "vendor/fresh");
  run("init --quiet .", workspace / "vendor/fresh");
  write_text(workspace / "vendor/fresh/inner.txt", "inner\n");
  make_repository(workspace / "vendor/[other]", {{"inner.txt", "inner\n"}});
  write_text(workspace / "vendor/mine.txt", "mine\n");
  const RunChange change = change_of(job);
  EXPECT_EQ(change.source, "worktree");
  EXPECT_EQ(change.files, 2U) << change.part.text;
  EXPECT_NE(change.part.text.find("+new\n"), std::string::npos) << change.part.text;
  EXPECT_NE(change.part.text.find("+mine\n"), std::string::npos) << change.part.text;
  EXPECT_EQ(change.part.text.find("inner"), std::string::npos) << change.part.text;
  EXPECT_EQ(run("status --porcelain", workspace).find("A "), std::string::npos)
      << "the worktree's own index stays as it is";
}

TEST_F(ChangeOfAWorktree, TheScratchDirectoryOfChecksIsLeftOut) {  // O2
  const Job job = begun();
  std::filesystem::create_directories(workspace_of(job) / ".smoke-data");
  write_text(workspace_of(job) / ".smoke-data/cache", "noise\n");
  write_text(workspace_of(job) / "file.txt", "two\n");
  const RunChange change = change_of(job);
  EXPECT_EQ(change.files, 1U) << change.part.text;
  EXPECT_EQ(change.part.text.find("noise"), std::string::npos) << change.part.text;
}

}  // namespace
}  // namespace signalbox
