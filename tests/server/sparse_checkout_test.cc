// Tests what create_pr does with files that a sparse checkout leaves out.
#include "server/git/hidden_files.h"
#include "server/git/pinned_repository.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class SparseCheckoutTest : public WorkOfAnAgent {
 protected:
  void SetUp() override {
    WorkOfAnAgent::SetUp();
    fs::create_directories(repository / "deep");
    write_text(repository / "deep/other.txt", "other\n");
    commit_all(repository, "other");
  }
};

// A file info/sparse-checkout lets git, and the service, take a deleted file for one that was never
// there.
TEST_F(SparseCheckoutTest, ADeletionThatIsHiddenByItIsNamed) {  // A1
  const Job intake = begun();
  const fs::path path = workspace_of(intake);
  const fs::path own = run("rev-parse --absolute-git-dir", path);
  fs::create_directories(own / "info");
  write_text(own / "info/sparse-checkout", "/*\n");
  run("update-index --skip-worktree deep/other.txt", path);
  fs::remove(path / "deep/other.txt");
  write_text(path / "file.txt", "two\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(result.result.summary.find("deep/other.txt"), std::string::npos)
      << result.result.summary;
  EXPECT_EQ(artifact_text(site, result, "left_out.txt"), "deep/other.txt\n");
  EXPECT_NE(artifact_text(site, result, "pull_request.md").find("- `deep/other.txt`"),
            std::string::npos);
  EXPECT_EQ(run("show HEAD:deep/other.txt", path), "other") << "it wasn't committed, as it says";
}

TEST_F(SparseCheckoutTest, WhatTheOwnersCheckoutLeavesOutIsNotNamed) {  // A1
  run("config core.sparseCheckout true", repository);
  write_text(repository / ".git/info/sparse-checkout", "/file.txt\n");
  for (const bool has_patterns : {true, false}) {
    const Job intake = begun();
    const fs::path path = workspace_of(intake);
    ASSERT_FALSE(fs::exists(path / "deep/other.txt"));
    const fs::path own = run("rev-parse --absolute-git-dir", path);
    if (!has_patterns) fs::remove(own / "info/sparse-checkout");
    write_text(path / "file.txt", "two\n");
    const JobResult result = end_of(next(intake, "create_pr"));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("show HEAD:file.txt", path), "two");
    EXPECT_EQ(run("show HEAD:deep/other.txt", path), "other") << has_patterns;
    EXPECT_EQ(result.result.summary.find("sparse"), std::string::npos) << result.result.summary;
  }
}

// Git itself refuses to add them.
TEST_F(SparseCheckoutTest, NewFilesOutsideOfItAreCommitted) {  // A1
  run("config core.sparseCheckout true", repository);
  const Job intake = begun();
  const fs::path path = workspace_of(intake);
  const fs::path own = run("rev-parse --absolute-git-dir", path);
  fs::create_directories(own / "info");
  write_text(own / "info/sparse-checkout", "/file.txt\n");
  run("read-tree -m -u HEAD", path);
  ASSERT_FALSE(fs::exists(path / "deep/other.txt"));
  fs::create_directories(path / "deep");
  write_text(path / "deep/new.txt", "new\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show HEAD:deep/new.txt", path), "new");
  EXPECT_EQ(run("show HEAD:deep/other.txt", path), "other");
}

// An index from HEAD alone would say that the agent deleted all that the checkout leaves out.
TEST_F(SparseCheckoutTest, AMissingIndexDeletesNothingOutsideOfIt) {  // A1
  fs::create_directories(repository / "inner");
  write_text(repository / "inner/in.txt", "in\n");
  write_text(repository / "deep/edited.txt", "one\n");
  commit_all(repository, "inner");
  // What is left of the patterns beside the index that is gone.
  enum class Patterns { whole, gone, dangling, directory };
  const auto worked = [this](bool by_agent, Patterns left) {
    const Job job = begun();
    const fs::path path = workspace_of(job);
    if (by_agent) run("sparse-checkout set --no-cone /file.txt /inner/", path);
    EXPECT_FALSE(fs::exists(path / "deep"));
    fs::create_directories(path / "deep");
    write_text(path / "deep/edited.txt", "two\n");
    write_text(path / "file.txt", "two\n");
    fs::remove(path / "inner/in.txt");
    const fs::path own = run("rev-parse --absolute-git-dir", path);
    fs::remove(own / "index");
    const fs::path patterns = own / "info/sparse-checkout";
    if (left != Patterns::whole) fs::remove(patterns);
    if (left == Patterns::dangling) fs::create_symlink("nowhere", patterns);
    if (left == Patterns::directory) fs::create_directory(patterns);
    return job;
  };
  const auto expect_whole = [this](const std::string& commit) {
    EXPECT_EQ(run("show " + commit + ":file.txt", repository), "two");
    EXPECT_EQ(run("show " + commit + ":deep/edited.txt", repository), "two");
    EXPECT_EQ(run("show " + commit + ":deep/other.txt", repository), "other");
    EXPECT_FALSE(git(repository, {"show", commit + ":inner/in.txt"}).ok) << "the agent deleted it";
  };
  const auto expect_kept = [&](bool by_agent, Patterns left) {
    SCOPED_TRACE(static_cast<int>(left));
    const Job proposed = worked(by_agent, left);
    const JobResult result = end_of(next(proposed, "create_pr"));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    expect_whole(branch_of_run(proposed));
    const RemovalOutcome outcome = remove_worktree(removal_of(worked(by_agent, left)));
    ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
    expect_whole(outcome.rescue_ref);
  };
  expect_kept(/*by_agent=*/true, Patterns::whole);
  run("config core.sparseCheckout true", repository);
  write_text(repository / ".git/info/sparse-checkout", "/file.txt\n/inner/\n");
  for (const Patterns left :
       {Patterns::whole, Patterns::gone, Patterns::dangling, Patterns::directory}) {
    expect_kept(/*by_agent=*/false, left);
  }
}

// Git would take one that leads nowhere for an empty index, and write through any.
TEST_F(SparseCheckoutTest, ALinkInPlaceOfTheIndexDeletesNothing) {  // A1
  run("config core.sparseCheckout true", repository);
  write_text(repository / ".git/info/sparse-checkout", "/file.txt\n");
  for (const bool is_dangling : {true, false}) {
    SCOPED_TRACE(is_dangling);
    const Job job = begun();
    const fs::path path = workspace_of(job);
    const fs::path index = fs::path(run("rev-parse --absolute-git-dir", path)) / "index";
    const fs::path other = site.root() / "other-index";
    write_text(path / "ignored.log", "forced\n");
    write_text(path / ".gitignore", "*.log\n");
    run("add --sparse --force ignored.log", path);
    if (is_dangling) {
      fs::remove(index);
    } else {
      fs::rename(index, other);
    }
    fs::create_symlink(other, index);
    const std::string before = is_dangling ? "" : content_of(other);
    write_text(path / "file.txt", "two\n");
    const JobResult result = end_of(next(job, "create_pr"));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("show HEAD:file.txt", path), "two");
    EXPECT_EQ(run("show HEAD:deep/other.txt", path), "other");
    EXPECT_EQ(git(path, {"show", "HEAD:ignored.log"}).ok, !is_dangling) << "it was staged";
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(index)));
    EXPECT_EQ(fs::exists(other), !is_dangling) << "written through the link";
    if (is_dangling) continue;
    EXPECT_EQ(content_of(other), before) << "written through the link";
  }
}

// The checks station has another directory for temporary files than create_pr.
TEST_F(SparseCheckoutTest, WhatItLeftOutIsKnownWhereverTheListIsWritten) {  // A1
  run("config core.sparseCheckout true", repository);
  write_text(repository / ".git/info/sparse-checkout", "/file.txt\n");
  const Job job = begun();
  const fs::path path = workspace_of(job);
  fs::remove(fs::path(run("rev-parse --absolute-git-dir", path)) / "info/sparse-checkout");
  const auto pinned =
      PinnedRepository::open_recorded(site.root() / pins_directory_name / to_string(job.run_id));
  ASSERT_TRUE(pinned);
  GitOptions there;
  there.place = pinned->place_of(path).value();
  const auto hidden = hidden_files(path, there, site.root());
  ASSERT_TRUE(hidden) << hidden.error();
  EXPECT_EQ(*hidden, std::vector<std::string>());
}

}  // namespace
}  // namespace signalbox
