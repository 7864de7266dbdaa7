// Tests what the removal keeps of worktrees whose files somebody has removed: what git's record of
// them has.
#include "tests/server/worktree_removal_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Only git's record of the worktree names the commits then.
TEST_F(WorktreeRemoval, CommitsAreKeptAlsoWhereTheFilesAreGone) {  // A1, H6
  const auto lose_files = [](const Job& job, bool directory_too) {
    const fs::path path = workspace_of(job);
    run("checkout --quiet --detach", path);
    write_text(path / "file.txt", "left\n");
    commit_all(path, "left");
    run("update-ref refs/worktree/left HEAD", path);
    run("reset --quiet --hard HEAD~1", path);
    write_text(path / "file.txt", "committed\n");
    commit_all(path, "detached");
    fs::remove_all(path);
    if (!directory_too) fs::create_directory(path);
  };
  for (const bool directory_too : {true, false}) {
    const Job job = worktree();
    lose_files(job, directory_too);
    RemovalRequest request = request_for(job);
    request.rescue_unsaved = false;
    const RemovalOutcome kept = remove_worktree(request);
    EXPECT_EQ(kept.result, Removal::left);
    EXPECT_NE(kept.reason.find("it has commits that no branch has (its files are gone; `git "),
              std::string::npos)
        << kept.reason;
    EXPECT_TRUE(is_listed(job));
    request.rescue_unsaved = true;
    const RemovalOutcome outcome = remove_worktree(request);
    EXPECT_NE(outcome.result, Removal::left) << outcome.reason;
    ASSERT_EQ(outcome.rescue_ref, rescue_ref_of(request.run_id));
    EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "committed\n");
    EXPECT_EQ(shown(outcome.rescue_ref + "^2:file.txt"), "left\n");
    expect_gone(job);
    EXPECT_EQ(remove_worktree(request).result, Removal::nothing_there);
  }
}

// Only the index names the content then.
TEST_F(WorktreeRemoval, WhatWasStagedIsKeptAlsoWhereTheFilesAreGone) {  // A1, H6
  for (const bool directory_too : {true, false}) {
    const Job job = worktree();
    const fs::path path = workspace_of(job);
    const std::string tip = run("rev-parse HEAD", path);
    write_text(path / "new.txt", "staged\n");
    run("add new.txt", path);
    fs::remove_all(path);
    if (!directory_too) fs::create_directory(path);
    RemovalRequest request = request_for(job);
    request.rescue_unsaved = false;
    const RemovalOutcome kept = remove_worktree(request);
    EXPECT_EQ(kept.result, Removal::left);
    EXPECT_NE(kept.reason.find("it has staged work that no commit has (its files are gone; `git "),
              std::string::npos)
        << kept.reason;
    EXPECT_TRUE(is_listed(job));
    request.rescue_unsaved = true;
    const RemovalOutcome outcome = remove_worktree(request);
    EXPECT_NE(outcome.result, Removal::left) << outcome.reason;
    ASSERT_EQ(outcome.rescue_ref, rescue_ref_of(request.run_id));
    EXPECT_EQ(shown(outcome.rescue_ref + ":new.txt"), "staged\n");
    EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "one\n");
    EXPECT_EQ(run("rev-parse " + outcome.rescue_ref + "^1", repository), tip);
    expect_gone(job);
    EXPECT_EQ(remove_worktree(request).rescue_ref, outcome.rescue_ref);
  }
}

TEST_F(WorktreeRemoval, AConflictStaysWhereTheFilesAreGone) {  // A1
  set_identity(repository);
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  write_text(path / "file.txt", "ours\n");
  commit_all(path, "ours");
  write_text(repository / "file.txt", "theirs\n");
  commit_all(repository, "theirs");
  EXPECT_FALSE(git(path, {"merge", "main"}).ok);
  fs::remove_all(path);
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  EXPECT_EQ(outcome.result, Removal::left);
  EXPECT_NE(outcome.reason.find("its work can't be kept: git write-tree: "), std::string::npos)
      << outcome.reason;
  EXPECT_TRUE(is_listed(job));
  run("worktree remove --force --force " + path.string(), repository);  // as the reason says
  EXPECT_EQ(remove_worktree(request_for(job)).result, Removal::nothing_there);
}

// Killed after the rename: the rescue has more than the index.
TEST_F(WorktreeRemoval, ARescueOfTheFilesIsNotReplacedByTheIndex) {  // A1, H6
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  write_text(path / "file.txt", "staged\n");
  run("add file.txt", path);
  write_text(path / "file.txt", "later\n");
  const RemovalRequest request = request_for(job);
  ASSERT_TRUE(rescue(request).has_value());
  fs::rename(path, path.string() + ".removing");
  const RemovalOutcome outcome = remove_worktree(request);
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "later\n");
  expect_gone(job);
}

TEST_F(WorktreeRemoval, RepositoriesOfSubmodulesStayWhereTheFilesAreGone) {  // A1, A2
  const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
  commit_submodule(repository, library, "lib");
  const Job untouched = worktree();
  fs::remove_all(workspace_of(untouched));
  const RemovalOutcome gone = remove_worktree(request_for(untouched));
  EXPECT_EQ(gone.result, Removal::nothing_there) << gone.reason;

  const Job job = worktree();
  const fs::path path = workspace_of(job);
  write_text(path / "lib/lib.txt", "precious\n");
  commit_all(path / "lib", "mine");
  const fs::path record = run("rev-parse --absolute-git-dir", path);
  fs::remove_all(path);
  for (const bool is_empty : {false, true}) {
    if (is_empty) fs::create_directory(path);
    const RemovalOutcome outcome = remove_worktree(request_for(job));
    EXPECT_EQ(outcome.result, Removal::left);
    EXPECT_NE(outcome.reason.find("submodule lib, which isn't checked out, has commits"),
              std::string::npos)
        << outcome.reason;
    EXPECT_EQ(outcome.reason.find("`rmdir ") != std::string::npos, is_empty) << outcome.reason;
    EXPECT_TRUE(fs::exists(record / "modules/lib/HEAD"));
  }
  fs::remove(path);  // as the reason says
  run("worktree remove --force --force " + path.string(), repository);
  EXPECT_EQ(remove_worktree(request_for(job)).result, Removal::nothing_there);
}

}  // namespace
}  // namespace signalbox
