// Tests what create_pr and the removal do with a worktree whose index an agent has removed, that
// git can't read, or whose objects are gone.
#include <chrono>
#include <cstdlib>

#include "server/git/hidden_files.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class MissingIndexTest : public WorkOfAnAgent {
 protected:
  static fs::path index_of(const Job& job) {
    return fs::path(run("rev-parse --absolute-git-dir", workspace_of(job))) / "index";
  }
  // Stages the file, as one that was written long ago: git doesn't read it again.
  static void stage(const Job& job, const std::string& name, const std::string& text) {
    const fs::path file = workspace_of(job) / name;
    write_text(file, text);
    fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(24));
    run("add --force " + name, workspace_of(job));
  }
  void remove_object_of(const Job& job, const std::string& name) const {
    const std::string id = run("rev-parse :" + name, workspace_of(job));
    ASSERT_TRUE(fs::remove(repository / ".git/objects" / id.substr(0, 2) / id.substr(2)));
  }
};

// Puts a program in the place of git that answers the first `git ls-files --unmerged` with this
// message and git's exit code of a fatal error, and is git else.
class FailingGit {
 public:
  FailingGit(const fs::path& directory, const std::string& message) : before_(std::getenv("PATH")) {
    fs::create_directory(directory);
    write_text(directory / "git", "#!/bin/sh\nPATH='" + before_ +
                                      "'\ncase \"$*\" in *'ls-files --unmerged'*)\n  if mkdir '" +
                                      (directory / "failed").string() +
                                      "' 2>/dev/null; then echo '" + message +
                                      "' >&2; exit 128; fi;;\nesac\nexec git \"$@\"\n");
    fs::permissions(directory / "git", fs::perms::owner_all);
    ::setenv("PATH", directory.c_str(), 1);
  }
  ~FailingGit() { ::setenv("PATH", before_.c_str(), 1); }
  FailingGit(const FailingGit&) = delete;
  FailingGit& operator=(const FailingGit&) = delete;

 private:
  const std::string before_;
};

// Without an index, git would take a tracked file that .gitignore names for an ignored one.
TEST_F(MissingIndexTest, ADeletedIndexLosesNoTrackedFile) {  // A1
  write_text(repository / "kept.log", "one\n");
  run("add --all", repository);
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "a tracked file that is ignored");
  const auto worked = [this] {
    const Job job = begun();
    write_text(workspace_of(job) / "kept.log", "two\n");
    fs::remove(fs::path(run("rev-parse --absolute-git-dir", workspace_of(job))) / "index");
    return job;
  };
  const Job proposed = worked();
  const JobResult result = end_of(next(proposed, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(proposed) + ":kept.log", repository), "two");
  const RemovalOutcome outcome = remove_worktree(removal_of(worked()));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":kept.log", repository), "two");
}

// Only the index has what was staged.
TEST_F(MissingIndexTest, AnIndexThatIsUnreadableForAMomentIsKept) {  // A1
  const Job job = begun();
  stage(job, "file.txt", "staged\n");
  write_text(workspace_of(job) / "file.txt", "later\n");
  const fs::path index = index_of(job);
  GitOptions options;
  for (const char* message : {"fatal: .git/index: index file open failed: Input/output error",
                              "fatal: .git/index: unable to map index file: Cannot allocate memory",
                              "fatal: Out of memory, malloc failed (tried to allocate 90 bytes)"}) {
    const FailingGit failing(site.root() / ("git-" + std::to_string(std::string(message).size())),
                             message);
    const auto mended = mend_index(workspace_of(job), options, index);
    ASSERT_FALSE(mended) << message;
    EXPECT_NE(mended.error().find(message), std::string::npos) << mended.error();
    EXPECT_FALSE(fs::exists(index.string() + ".set-aside")) << message;
    EXPECT_EQ(mend_index(workspace_of(job), options, index), IndexOrigin::own) << message;
  }
  const RemovalOutcome outcome = remove_worktree(removal_of(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":file.txt", repository), "later");
  EXPECT_EQ(run("show " + outcome.rescue_ref + "^2:file.txt", repository), "staged");
}

TEST_F(MissingIndexTest, AnIndexThatGitCallsDamagedIsSetAside) {  // A1
  for (const std::string& damaged :
       {std::string(), std::string("short"), std::string(200, 'x'),
        std::string("DIRC\0\0\0\x09\0\0\0\x01", 12) + std::string(100, 'x')}) {
    const Job job = begun();
    write_text(workspace_of(job) / "file.txt", "two\n");
    write_text(index_of(job), damaged);
    EXPECT_EQ(mend_index(workspace_of(job), {}, index_of(job)), IndexOrigin::made) << damaged;
    EXPECT_TRUE(fs::exists(index_of(job).string() + ".set-aside")) << damaged;
  }
}

TEST_F(MissingIndexTest, WithoutItsObjectsWhatIsInTheWorktreeIsSaved) {  // A1
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "what git ignores");
  const auto worked = [this] {
    const Job job = begun();
    for (const char* name : {"new.txt", "file.txt", "kept.log", "lost.txt"}) {
      stage(job, name, std::string("staged ") + name + "\n");
      remove_object_of(job, name);
    }
    stage(job, "draft.txt", "a draft\n");
    write_text(workspace_of(job) / "draft.txt", "final\n");
    fs::remove(workspace_of(job) / "lost.txt");
    return job;
  };
  const auto expect_saved = [this](const std::string& commit) {
    EXPECT_EQ(run("show " + commit + ":new.txt", repository), "staged new.txt");
    EXPECT_EQ(run("show " + commit + ":file.txt", repository), "staged file.txt");
    EXPECT_EQ(run("show " + commit + ":kept.log", repository), "staged kept.log");
    EXPECT_EQ(run("show " + commit + ":draft.txt", repository), "final");
  };
  const Job proposed = worked();
  const JobResult result = end_of(next(proposed, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  expect_saved(branch_of_run(proposed));

  const RemovalOutcome outcome = remove_worktree(removal_of(worked()));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  expect_saved(outcome.rescue_ref);
  EXPECT_EQ(run("show " + outcome.rescue_ref + "^2:draft.txt", repository), "a draft");
  const auto names = [&](const std::string& file) {
    return !run("log --max-count=1 --format=%h --fixed-strings --grep=" + file + " " +
                    outcome.rescue_ref,
                repository)
                .empty();
  };
  EXPECT_TRUE(names("lost.txt"));
  EXPECT_FALSE(names("new.txt"));
}

}  // namespace
}  // namespace signalbox
