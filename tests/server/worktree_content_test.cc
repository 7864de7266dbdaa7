// Tests that the station intake brings the content of submodules and of LFS files into the
// worktree, or names what is missing.
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class WorktreeContent : public BuiltinStations {
 protected:
  // Makes a repository "library" and commits it to the run's repository as a submodule at "lib".
  void add_submodule() {
    make_repository(library, {{"lib.txt", "lib\n"}});
    commit_submodule(repository, library, "lib");
  }
  // Makes a run's worktree; `job` becomes its job. Returns the summary.
  std::string begin(Job& job) {
    job = builtin("intake");
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return result.result.summary;
  }

  fs::path library = site.root() / "library";
};

TEST_F(WorktreeContent, AnInitializedSubmoduleIsCheckedOutFromTheOwnersClone) {  // A2
  add_submodule();
  fs::rename(library, site.root() / "away");
  Job job;
  const std::string summary = begin(job);
  EXPECT_EQ(content_of(workspace_of(job) / "lib/lib.txt"), "lib\n");
  EXPECT_EQ(summary.find("Submodule"), std::string::npos) << summary;
  EXPECT_EQ(run("remote get-url origin", workspace_of(job) / "lib"), library.string());
  EXPECT_EQ(run("status --porcelain", workspace_of(job)), "");
}

// Whoever wrote the commit chose the URL in its .gitmodules.
TEST_F(WorktreeContent, AnUrlOfGitmodulesAloneIsNotFetched) {  // A2
  add_submodule();
  run("submodule --quiet deinit --force lib", repository);
  Job job;
  const std::string summary = begin(job);
  EXPECT_NE(summary.find("Submodules that aren't checked out in it: lib."), std::string::npos)
      << summary;
  EXPECT_TRUE(fs::is_empty(workspace_of(job) / "lib"));
}

TEST_F(WorktreeContent, ASubmoduleWhoseCommitIsNowhereIsNamed) {  // A2
  add_submodule();
  run("update-index --cacheinfo 160000," + run("rev-parse HEAD", repository) + ",lib", repository);
  run("commit --quiet -m nowhere", repository);
  Job job;
  const std::string summary = begin(job);
  EXPECT_NE(summary.find("Submodule lib can't be checked out"), std::string::npos) << summary;
  EXPECT_TRUE(fs::is_empty(workspace_of(job) / "lib")) << "what was begun is no work of an agent";
  write_text(workspace_of(job) / "file.txt", "two\n");
  const JobResult result = end_of(next(job, "create_pr"));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
}

// Commits files with the line ends of Windows, and attributes by which git wouldn't commit these.
void commit_former_line_ends(const fs::path& repository) {
  for (const char* name : {"w1.txt", "w2.txt"}) write_text(repository / name, "one\r\n");
  commit_everything(repository, "line ends");
  write_text(repository / ".gitattributes", "*.txt text\n");
  run_git(repository, {"add", ".gitattributes"});
  run_git(repository, {"commit", "--quiet", "-m", "attributes"});
}

// Git compares the content of a file that isn't older than the index.
TEST_F(WorktreeContent, AFileThatGitWouldCommitOtherwiseIsUnchangedUntilItIsWritten) {  // A1, A2
  commit_former_line_ends(repository);
  Job job;
  std::string summary;
  // The turn of a second between the checkout and the index leaves nothing to do.
  for (int round = 0; round < 5 && summary.find("w1.txt") == std::string::npos; ++round) {
    summary = begin(job);
    const JobResult result = end_of(next(job, "create_pr"));
    EXPECT_EQ(result.failure.code, "NOTHING_TO_PROPOSE") << result.failure.message;
  }
  EXPECT_NE(summary.find("2 files, such as w1.txt"), std::string::npos) << summary;

  begin(job);
  write_text(workspace_of(job) / "w1.txt", "two\r\n");  // as long as before
  const JobResult result = end_of(next(job, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show HEAD:w1.txt", workspace_of(job)), "two");
  EXPECT_EQ(run("diff --shortstat main HEAD", workspace_of(job)).find(" 1 file changed"), 0U);
}

class LfsContent : public WorktreeContent {
 protected:
  // Commits an LFS file, and moves its content to a remote in the file system.
  void SetUp() override {
    WorktreeContent::SetUp();
    const GitOutcome found = git(repository, {"lfs", "version"});
    ASSERT_TRUE(found.ok) << "git-lfs is missing: tools/packages git-lfs";
    run("lfs install --local --skip-repo", repository);  // no hook, which would push for itself
    write_text(repository / ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    write_text(repository / "large.bin", "the content\n");
    commit_all(repository, "large");
    make_remote(repository, remote);
    run("lfs push --all origin", repository);
    fs::remove_all(repository / ".git/lfs/objects");
  }

  fs::path remote = site.root() / "remote.git";
};

TEST_F(LfsContent, IsFetchedFromTheRemote) {  // A2
  Job job;
  const std::string summary = begin(job);
  EXPECT_EQ(content_of(workspace_of(job) / "large.bin"), "the content\n");
  EXPECT_EQ(summary.find("LFS"), std::string::npos) << summary;
}

TEST_F(LfsContent, ThatIsNowhereIsNamed) {  // A2
  fs::remove_all(remote / "lfs");
  Job job;
  const std::string summary = begin(job);
  EXPECT_EQ(content_of(workspace_of(job) / "large.bin").find("version https://git-lfs"), 0U);
  EXPECT_NE(summary.find("large.bin"), std::string::npos) << summary;
}

}  // namespace
}  // namespace signalbox
