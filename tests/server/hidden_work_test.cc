// Tests that create_pr and the removal of a worktree find what an agent did though its index, or a
// setting, doesn't show it.
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/eventually.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns when the file's content or attributes changed (s).
std::int64_t changed_at(const fs::path& path) {
  struct stat facts = {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return facts.st_ctim.tv_sec;
}

// A setting of the repository, which any agent before it may have made.
TEST_F(WorkOfAnAgent, ThatASettingHidesIsCommittedAllTheSame) {  // A1
  run("config core.fileMode false", repository);
  run("config core.trustctime false", repository);
  run("config core.checkStat minimal", repository);
  write_text(repository / "run.sh", "#!/bin/sh\n");
  commit_all(repository, "a script");
  const auto worked = [this] {
    const Job job = begun();
    const fs::path file = workspace_of(job) / "file.txt";
    const auto long_ago = fs::last_write_time(file) - std::chrono::hours(24);
    fs::last_write_time(file, long_ago);
    run("update-index --refresh", workspace_of(job));
    const std::int64_t before = changed_at(file);
    EXPECT_TRUE(eventually([&] {
      write_text(file, "two\n");  // of the same size
      fs::last_write_time(file, long_ago);
      return changed_at(file) != before;
    })) << "git compares seconds";
    fs::permissions(workspace_of(job) / "run.sh", fs::perms::owner_all);
    return job;
  };
  const auto expect_whole = [this](const std::string& commit) {
    EXPECT_EQ(run("show " + commit + ":file.txt", repository), "two");
    EXPECT_EQ(run("ls-tree " + commit + " run.sh", repository).substr(0, 6), "100755");
  };
  const Job proposed = worked();
  const JobResult result = end_of(next(proposed, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  expect_whole(branch_of_run(proposed));
  const RemovalOutcome outcome = remove_worktree(removal_of(worked()));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  ASSERT_FALSE(outcome.rescue_ref.empty());
  expect_whole(outcome.rescue_ref);
}

// Git refuses to work with any of them.
TEST_F(WorkOfAnAgent, UnderAnIndexThatIsNoneIsCommittedOrKept) {  // A1
  const std::vector<std::function<void(const fs::path&)>> others{
      [](const fs::path& index) { write_text(index, "no index at all\n"); },
      [](const fs::path& index) {
        fs::remove(index);
        fs::create_directory(index);
        write_text(index / "file", "in it\n");
      },
      [](const fs::path& index) {
        fs::remove(index);
        fs::create_symlink("/dev/null", index);
      },
      [](const fs::path& index) {
        fs::create_directory(index.string() + ".made");
        write_text(index.string() + ".made/file", "in the way\n");
        fs::remove(index);
      }};
  const auto worked = [this](const std::function<void(const fs::path&)>& replace) {
    const Job job = begun();
    const fs::path path = workspace_of(job);
    write_text(path / "new.txt", "new\n");
    replace(fs::path(run("rev-parse --absolute-git-dir", path)) / "index");
    return job;
  };
  for (const auto& other : others) {
    SCOPED_TRACE(&other - others.data());
    const Job proposed = worked(other);
    const JobResult result = end_of(next(proposed, "create_pr"));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(result.result.summary.find("deleted"), std::string::npos) << result.result.summary;
    EXPECT_EQ(run("show HEAD:new.txt", workspace_of(proposed)), "new");
    EXPECT_EQ(run("show HEAD:file.txt", workspace_of(proposed)), "one");
    const RemovalOutcome outcome = remove_worktree(removal_of(worked(other)));
    ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
    EXPECT_EQ(run("show " + outcome.rescue_ref + ":new.txt", repository), "new");
  }
}

// Without it nobody knows whether they were deleted, or left out by a sparse checkout.
TEST_F(WorkOfAnAgent, FilesThatAreGoneTogetherWithTheIndexAreNamed) {  // A1
  write_text(repository / "other.txt", "other\n");
  commit_all(repository, "other");
  const Job job = begun();
  const fs::path path = workspace_of(job);
  run("sparse-checkout set --no-cone /file.txt", path);
  ASSERT_FALSE(fs::exists(path / "other.txt"));
  const fs::path own = run("rev-parse --absolute-git-dir", path);
  fs::remove(own / "index");
  fs::remove(own / "info/sparse-checkout");
  const JobResult result = end_of(next(job, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(result.result.summary.find("deleted, such as other.txt."), std::string::npos)
      << result.result.summary;
  EXPECT_NE(artifact_text(site, result, "pull_request.md").find("other.txt"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
