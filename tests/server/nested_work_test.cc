// Tests that no work in repositories inside a worktree, and no commit that only the worktree refers
// to, goes with the worktree.
#include "server/git/unsaved_work.h"
#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class NestedWorkTest : public WorkOfAnAgent {
 protected:
  // Commits a submodule "lib" with a submodule "inner" to the repository, and checks both out in
  // the worktree of a run.
  Job begun_with_two_levels() {
    const fs::path inner = make_repository(site.root() / "inner", {{"inner.txt", "inner\n"}});
    const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
    commit_submodule(library, inner, "inner");
    commit_submodule(repository, library, "lib");
    const Job job = begun();
    for (const fs::path& outer : {workspace_of(job), workspace_of(job) / "lib"}) {
      run("-c protocol.file.allow=always submodule --quiet update --init", outer);
    }
    return job;
  }
  static fs::path inner_of(const Job& job) { return workspace_of(job) / "lib/inner"; }
  // Expects that the worktree stays, for a reason with this text.
  void expect_stays(const Job& job, const std::string& text) const {
    const RemovalOutcome outcome = remove_worktree(removal_of(job));
    EXPECT_EQ(outcome.result, Removal::left);
    EXPECT_NE(outcome.reason.find(text), std::string::npos) << outcome.reason;
    EXPECT_TRUE(fs::exists(workspace_of(job)));
  }
  void expect_goes(const Job& job) const {
    const RemovalOutcome outcome = remove_worktree(removal_of(job));
    EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  }
};

TEST_F(NestedWorkTest, FilesOfASubmodulesSubmoduleStay) {  // A1
  const Job job = begun_with_two_levels();
  write_text(inner_of(job) / "inner.txt", "precious\n");
  expect_stays(job, "inner");
  write_text(workspace_of(job) / "file.txt", "two\n");
  expect_refused(end_of(next(job, "create_pr")), "inner");
  EXPECT_EQ(content_of(inner_of(job) / "inner.txt"), "precious\n");

  write_text(inner_of(job) / "inner.txt", "inner\n");
  write_text(inner_of(job) / "new.txt", "precious\n");
  expect_stays(job, "inner");
  fs::remove(inner_of(job) / "new.txt");
  const JobResult result = end_of(next(job, "create_pr", 2));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  expect_goes(job);
}

TEST_F(NestedWorkTest, CommitsOfASubmodulesSubmoduleStay) {  // A1
  const Job job = begun_with_two_levels();
  run("checkout --quiet -b mine", inner_of(job));
  write_text(inner_of(job) / "inner.txt", "precious\n");
  commit_all(inner_of(job), "mine");
  run("checkout --quiet --detach origin/main", inner_of(job));  // as its superproject has it
  expect_stays(job, "inner");
  run("push --quiet origin mine", inner_of(job));
  expect_goes(job);
}

TEST_F(NestedWorkTest, CommitsOfASubmoduleThatWasRemovedStay) {  // A1
  add_submodule();
  const Job job = begun();
  const fs::path lib = workspace_of(job) / "lib";
  write_text(lib / "lib.txt", "precious\n");
  commit_all(lib, "mine");
  run("rm --quiet --force lib", workspace_of(job));
  run("commit --quiet -m removed", workspace_of(job));
  ASSERT_FALSE(fs::exists(lib));
  expect_stays(job, "lib, which isn't checked out");
}

// Only the log of its HEAD names them.
TEST_F(NestedWorkTest, CommitsThatASubmoduleLeftStay) {  // A1
  add_submodule();
  const auto leave = [](const Job& job, const std::string& how) {
    const fs::path lib = workspace_of(job) / "lib";
    const std::string before = run("rev-parse HEAD", lib);
    write_text(lib / "lib.txt", "precious\n");
    commit_all(lib, "mine");
    run(how + " " + before, lib);
  };
  const Job was_reset = begun();
  leave(was_reset, "reset --quiet --hard");
  expect_stays(was_reset, "submodule lib has commits that HEAD was moved away from");
  const Job left = begun();
  leave(left, "checkout --quiet --detach");
  expect_stays(left, "submodule lib has commits that HEAD was moved away from");
  write_text(workspace_of(left) / "file.txt", "two\n");
  const JobResult proposed = end_of(next(left, "create_pr"));
  EXPECT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_NE(proposed.result.summary.find("submodule lib has commits"), std::string::npos)
      << proposed.result.summary;

  const Job deleted = begun();
  run("checkout --quiet -b mine", workspace_of(deleted) / "lib");
  leave(deleted, "checkout --quiet --detach");
  run("branch --quiet -D mine", workspace_of(deleted) / "lib");
  expect_stays(deleted, "submodule lib has commits that HEAD was moved away from");

  const Job removed = begun();
  leave(removed, "reset --quiet --hard");
  run("rm --quiet --force lib", workspace_of(removed));
  run("commit --quiet -m removed", workspace_of(removed));
  expect_stays(removed, "lib, which isn't checked out, has commits that HEAD was moved away from");

  for (const Job& job : {was_reset, left}) {  // as the reason says
    run("reflog expire --expire=now HEAD", workspace_of(job) / "lib");
    expect_goes(job);
  }
}

TEST_F(NestedWorkTest, AStashOfASubmoduleStays) {  // A1
  add_submodule();
  const Job job = begun();
  const fs::path lib = workspace_of(job) / "lib";
  write_text(lib / "lib.txt", "precious\n");
  run("-c user.name=a -c user.email=a@b stash --quiet", lib);
  expect_stays(job, "submodule lib has commits");
}

TEST_F(NestedWorkTest, ATagPublishesNoCommitOfASubmodule) {  // A1
  const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
  run("checkout --quiet --detach", library);
  commit_all(library, "a release on no branch");
  run("tag v1", library);
  run("checkout --quiet main", library);
  commit_submodule(repository, library, "lib");
  const Job job = begun();
  const fs::path lib = workspace_of(job) / "lib";
  run("checkout --quiet v1", lib);
  write_text(workspace_of(job) / "file.txt", "two\n");
  const JobResult bumped = end_of(next(job, "create_pr"));
  EXPECT_EQ(bumped.outcome, Outcome::succeeded) << "the owner's tag: " << bumped.failure.message;

  write_text(lib / "lib.txt", "precious\n");
  commit_all(lib, "mine");
  run("tag v2", lib);
  expect_refused(end_of(next(job, "create_pr", 2)), "lib");
  expect_stays(job, "submodule");
}

TEST_F(NestedWorkTest, CommitsThatOnlyTheWorktreeRefersToAreKept) {  // A1
  const auto detach = [](const Job& job) {
    run("checkout --quiet --detach", workspace_of(job));
    write_text(workspace_of(job) / "file.txt", to_string(job.run_id));
    commit_all(workspace_of(job), "mine");
  };
  const auto expect_kept = [this](const Job& job, const char* what) {
    const std::string commit = run("rev-parse HEAD", workspace_of(job));
    return [this, job, commit, what] {
      SCOPED_TRACE(what);
      const RemovalOutcome outcome = remove_worktree(removal_of(job));
      EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
      const std::string ref = rescue_ref_of(to_string(job.run_id));
      EXPECT_EQ(outcome.rescue_ref, ref);
      EXPECT_EQ(run("rev-list --count " + commit + " --not " + ref, repository), "0");
    };
  };
  const Job of_ref = begun();
  detach(of_ref);
  run("update-ref refs/worktree/mine HEAD", workspace_of(of_ref));
  expect_kept(of_ref, "a ref")();

  const Job of_bisect = begun();
  detach(of_bisect);
  run("update-ref refs/bisect/bad HEAD", workspace_of(of_bisect));
  expect_kept(of_bisect, "a bisection")();

  const Job left = begun();
  detach(left);
  const auto expect_left_kept = expect_kept(left, "a branch that was left");
  run("checkout --quiet " + branch_of_run(left), workspace_of(left));
  expect_left_kept();

  const Job was_reset = begun();
  write_text(workspace_of(was_reset) / "file.txt", "reset\n");
  commit_all(workspace_of(was_reset), "mine");
  const auto expect_reset_kept = expect_kept(was_reset, "a reset");
  run("reset --quiet --hard HEAD~1", workspace_of(was_reset));
  expect_reset_kept();

  const Job deleted = begun();
  run("checkout --quiet -b theirs", workspace_of(deleted));
  write_text(workspace_of(deleted) / "file.txt", "deleted\n");
  commit_all(workspace_of(deleted), "mine");
  const auto expect_deleted_kept = expect_kept(deleted, "a branch that was deleted");
  run("checkout --quiet " + branch_of_run(deleted), workspace_of(deleted));
  run("branch --quiet -D theirs", workspace_of(deleted));
  expect_deleted_kept();

  const Job amended = begun();  // what was replaced by an amended commit is nobody's work
  write_text(workspace_of(amended) / "file.txt", "draft\n");
  commit_all(workspace_of(amended), "draft");
  run("commit --quiet --amend -m final", workspace_of(amended));
  const RemovalOutcome outcome = remove_worktree(removal_of(amended));
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(outcome.rescue_ref, "");
}

// HEAD is at the first one then. Only its log names the last one, and the rebase's own files, as
// long as they are there.
TEST_F(NestedWorkTest, CommitsOfARebaseThatIsNotFinishedAreKept) {  // A1
  const auto rebase = [](const fs::path& directory) {
    run("checkout --quiet --detach", directory);
    for (const char* name : {"a.txt", "b.txt", "c.txt"}) {
      write_text(directory / name, "mine\n");
      commit_all(directory, name);
    }
    const std::string last = run("rev-parse HEAD", directory);
    EXPECT_FALSE(git(directory, {"-c", "user.name=t", "-c", "user.email=t@localhost", "rebase",
                                 "--quiet", "--exec", "false", "HEAD~3"})
                     .ok);
    EXPECT_NE(run("rev-parse HEAD", directory), last);
    return last;
  };
  for (const bool quits : {false, true}) {
    const Job job = begun();
    const std::string last = rebase(workspace_of(job));
    if (quits) run("rebase --quit", workspace_of(job));
    expect_goes(job);
    const std::string ref = rescue_ref_of(to_string(job.run_id));
    EXPECT_EQ(run("rev-list --count " + last + " --not " + ref, repository), "0") << quits;
  }

  // In a submodule the first one is published.
  add_submodule();
  const Job nested = begun();
  const fs::path lib = workspace_of(nested) / "lib";
  rebase(lib);
  run("update-ref refs/remotes/origin/main HEAD", lib);
  run("reflog expire --expire=now HEAD", lib);
  commit_all(workspace_of(nested), "lib");
  expect_stays(nested, "rebase --quit` and then `git -C ");
  run("rebase --quit", lib);  // as the reason says
  run("reflog expire --expire=now HEAD", lib);
  expect_goes(nested);
}

// The commits that it had made until then may hold what somebody resolved.
TEST_F(NestedWorkTest, CommitsOfARebaseThatWasGivenUpAreKept) {  // A1
  set_identity(repository);
  const Job job = begun();
  const fs::path workspace = workspace_of(job);
  write_text(workspace / "file.txt", "mine\n");
  commit_all(workspace, "mine");
  EXPECT_FALSE(git(workspace, {"rebase", "--quiet", "--exec", "false", "HEAD~1"}).ok);
  run("commit --quiet --amend -m resolved", workspace);
  const std::string resolved = run("rev-parse HEAD", workspace);
  run("rebase --abort", workspace);
  expect_goes(job);
  const std::string ref = rescue_ref_of(to_string(job.run_id));
  EXPECT_EQ(run("rev-list --count " + resolved + " --not " + ref, repository), "0");
}

class WorktreeTips : public NestedWorkTest {
 protected:
  static fs::path own_directory(const Job& job) {
    return run("rev-parse --absolute-git-dir", workspace_of(job));
  }
  static std::string id(std::size_t number) {
    std::string digits = std::to_string(number);
    return std::string(40 - digits.size(), 'a') + digits;
  }
  // A line of HEAD's log about a commit, which isn't there any more, that a reset left.
  static std::string reset_line(std::size_t number, std::size_t text_bytes = 0) {
    return id(number) + " " + id(number) + " a <a@b> 1 +0000\treset: moving to HEAD~1" +
           std::string(text_bytes, 'x') + "\n";
  }
};

TEST_F(WorktreeTips, AreBoundedAndMoreKeepTheWorktree) {  // A1, P8
  const Job job = begun();
  std::string log;
  for (std::size_t tip = 0; tip < limits::worktree_tips_max; ++tip) log += reset_line(tip);
  write_text(own_directory(job) / "logs/HEAD", log + reset_line(limits::worktree_tips_max));
  const RemovalOutcome over = remove_worktree(removal_of(job));
  EXPECT_EQ(over.result, Removal::left);
  EXPECT_NE(over.reason.find("more than 1000 commits"), std::string::npos) << over.reason;
  EXPECT_NE(over.reason.find("reflog expire --expire=now HEAD`"), std::string::npos);
  write_text(own_directory(job) / "logs/HEAD", log);
  expect_goes(job);
}

TEST_F(WorktreeTips, ALogIsReadUpToItsBound) {  // A1, P8
  const Job job = begun();
  const std::size_t rest = limits::worktree_log_bytes_max - reset_line(0).size();
  write_text(own_directory(job) / "logs/HEAD", reset_line(0, rest + 1));
  expect_stays(job, "the log of its HEAD can't be read");
  write_text(own_directory(job) / "logs/HEAD", reset_line(0, rest));
  expect_goes(job);
}

TEST_F(WorktreeTips, ARefOfItsOwnThatNamesNoCommitKeepsTheWorktree) {  // A1
  const Job job = begun();
  const fs::path workspace = workspace_of(job);
  run("update-ref refs/worktree/blob " + run("hash-object -w file.txt", workspace), workspace);
  expect_stays(job, "its ref refs/worktree/blob names no commit");
  run("tag signalbox-kept refs/worktree/blob", workspace);  // as the reason says
  run("update-ref -d refs/worktree/blob", workspace);
  expect_goes(job);
}

TEST_F(WorktreeTips, WhatIsNotUnderstoodKeepsTheWorktree) {  // A1
  const Job job = begun();
  const fs::path own = own_directory(job);
  const std::string log = content_of(own / "logs/HEAD");
  write_text(own / "logs/HEAD", log + "not a line of git's\n");
  expect_stays(job, "logs/HEAD has a line that names no commit");
  write_text(own / "logs/HEAD", log);
  write_text(own / "MERGE_HEAD", "who knows\n");
  expect_stays(job, "MERGE_HEAD has a line that names no commit");
  fs::remove(own / "MERGE_HEAD");
  fs::create_directories(own / "REVERT_HEAD");
  expect_stays(job, "REVERT_HEAD");
  fs::remove(own / "REVERT_HEAD");
  fs::create_directories(repository / ".git/objects/info/alternates");
  expect_stays(job, "alternates");
  fs::remove(repository / ".git/objects/info/alternates");
  expect_goes(job);
}

// Git itself says nothing about any of them.
TEST_F(NestedWorkTest, RepositoriesThatGitDoesNotListStay) {  // A1
  fs::create_directories(repository / "src");
  write_text(repository / "src/a.txt", "a\n");
  commit_all(repository, "src");
  const Job job = begun();
  const fs::path src = workspace_of(job) / "src";
  run("init --quiet .", src);  // beside tracked files
  commit_all(src, "mine");
  write_text(src / "a.txt", "two\n");
  expect_refused(end_of(next(job, "create_pr")), "src");
  expect_stays(job, "src has a .git");
  fs::remove_all(src / ".git");

  const fs::path broken = make_repository(workspace_of(job) / "broken", {{"b.txt", "b\n"}});
  fs::remove(broken / ".git/HEAD");
  expect_refused(end_of(next(job, "create_pr", 2)), "broken");
  expect_stays(job, "broken has a .git");
  fs::remove_all(broken);

  write_text(workspace_of(job) / "README", "x\n");
  fs::create_directories(workspace_of(job) / "hidden/.git");
  write_text(workspace_of(job) / "hidden/.git/work.txt", "precious\n");
  expect_refused(end_of(next(job, "create_pr", 3)), "hidden");
  expect_stays(job, "hidden has a .git");
  fs::remove_all(workspace_of(job) / "hidden");
  const JobResult result = end_of(next(job, "create_pr", 4));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  expect_goes(job);
}

// Git ignores it there, and a removal that doesn't ask would take it along.
TEST_F(NestedWorkTest, AWorktreeInAnIgnoredDirectoryStays) {  // A1
  write_text(repository / ".gitignore", "trees/\n");
  commit_all(repository, "ignore");
  const Job job = begun();
  run("worktree add --quiet --detach trees/one", workspace_of(job));
  const fs::path inside = workspace_of(job) / "trees/one";
  write_text(inside / "file.txt", "precious\n");
  expect_stays(job, "trees/one");
  commit_all(inside, "mine");
  expect_stays(job, "trees/one");
  run("branch mine", inside);
  expect_goes(job);
  EXPECT_EQ(run("show mine:file.txt", repository), "precious");
}

TEST_F(NestedWorkTest, ObjectsThatTheRepositoryBorrowsFromItStay) {  // A1
  write_text(repository / ".gitignore", "clone/\n");
  commit_all(repository, "ignore");
  const Job job = begun();
  const fs::path clone = workspace_of(job) / "clone";
  run("clone --quiet --no-hardlinks . clone", workspace_of(job));
  write_text(clone / "file.txt", "precious\n");
  commit_all(clone, "mine");
  write_text(repository / ".git/objects/info/alternates", (clone / ".git/objects").string() + "\n");
  run("reset --quiet --hard " + run("rev-parse HEAD", clone), workspace_of(job));
  expect_stays(job, "objects/info/alternates");
  run("repack --quiet -a -d", repository);
  fs::remove(repository / ".git/objects/info/alternates");
  expect_goes(job);
  EXPECT_EQ(run("show " + branch_of_run(job) + ":file.txt", repository), "precious");
}

}  // namespace
}  // namespace signalbox
