// Tests runs in one repository that were started with the same run root.
#include "server/board/run_change.h"
#include "server/git/pinned_repository.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class RunsOfOneRoot : public BuiltinStations {
 protected:
  // Makes the worktree of a run in the root of `other`.
  Job begun_in_root_of(const Job& other) {
    Job job = builtin("intake");
    job.run_root = other.run_root;
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job;
  }
};

// The other's work would be judged and pushed as its own.
TEST_F(RunsOfOneRoot, DoNotWorkInTheWorktreeOfAnother) {  // A10
  const Job first = builtin("intake");
  ASSERT_EQ(end_of(first).outcome, Outcome::succeeded);
  write_text(workspace_of(first) / "mine.txt", "mine\n");
  const Job second = begun_in_root_of(first);
  write_text(workspace_of(second) / "theirs.txt", "theirs\n");

  Job implement = next(first, "implement");
  implement.definition.executor = ExecutorKind::process;
  implement.definition.command = {"touch", "ran"};
  implement.base_station = "intake";
  const auto submitted = site.executor()->submit(implement);
  ASSERT_FALSE(submitted.has_value());
  EXPECT_EQ(submitted.error().code, "WORKSPACE_TAKEN") << submitted.error().message;
  EXPECT_EQ(submitted.error().error_class, ErrorClass::config);
  EXPECT_NE(submitted.error().message.find(to_string(second.run_id)), std::string::npos);
  EXPECT_FALSE(fs::exists(workspace_of(second) / "ran"));

  const JobResult proposed = end_of(next(first, "create_pr"));
  EXPECT_EQ(proposed.failure.code, "WORKSPACE_TAKEN") << proposed.failure.message;
  EXPECT_EQ(run("status --porcelain", workspace_of(second)), "?? theirs.txt");
  EXPECT_EQ(content_of(workspace_of(first).string() + ".set-aside-1/mine.txt"), "mine\n");

  const RunChangePlace place{first.run_id, first.run_token, repository, workspace_of(first),
                             site.root() / pins_directory_name / to_string(first.run_id)};
  const auto change = run_change(place, {}, 0);
  ASSERT_TRUE(change.has_value()) << change.error();
  ASSERT_TRUE(change->has_value());
  EXPECT_EQ((*change)->source, "branch");

  const JobResult done = end_of(next(second, "create_pr"));
  EXPECT_EQ(done.outcome, Outcome::succeeded) << done.failure.message;
}

// An agent of the earlier run could choose what judges the work of the later one.
TEST_F(RunsOfOneRoot, BeginAtABaseOfTheirOwn) {  // A3, A10
  const Job first = builtin("intake");
  ASSERT_EQ(end_of(first).outcome, Outcome::succeeded);
  write_text(repository / "merged.txt", "merged\n");
  commit_all(repository, "merged meanwhile");
  const Job second = begun_in_root_of(first);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(second)), run("rev-parse main", repository));
}

TEST_F(RunsOfOneRoot, AreMergedIntoABranchOfTheirOwn) {  // H11
  run("branch release main", repository);
  run("branch work main", repository);
  Job first = builtin("merge");
  first.workspace = first.run_root + "/merge-" + to_string(first.run_id).substr(0, 8);
  first.base = "release";
  first.input = R"({"branch":"work","commit":"work","title":"t"})";
  ASSERT_EQ(end_of(first).outcome, Outcome::succeeded);
  Job second = builtin("merge");
  second.run_root = first.run_root;
  second.workspace = first.run_root + "/merge-of-the-second";
  second.base = "main";
  second.input = first.input;
  const JobResult merged = end_of(second);
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  EXPECT_NE(merged.result.metadata.find(R"("base":"main")"), std::string::npos)
      << merged.result.metadata;
}

}  // namespace
}  // namespace signalbox
