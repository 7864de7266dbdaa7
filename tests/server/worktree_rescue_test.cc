// Tests that the removal of worktrees loses no work, whatever state a worktree is in.
#include <sys/wait.h>

#include "server/git/orphan_worktrees.h"
#include "tests/server/worktree_removal_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(WorktreeRemoval, CommitsOfItsBranchAreKeptForWhoeverTakesThemOver) {  // A1
  const Job job = worktree();
  write_text(workspace_of(job) / "file.txt", "mine\n");
  commit_all(workspace_of(job), "mine");
  RemovalRequest request = request_for(job);
  request.keeps_branch_work = true;
  const RemovalOutcome outcome = remove_worktree(request);
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(outcome.rescue_ref, "refs/signalbox/rescue/" + to_string(job.run_id));
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "mine\n");
  expect_gone(job);
}

TEST_F(WorktreeRemoval, UncommittedWorkIsKeptWithoutTouchingABranchOrRunningAHook) {  // H6
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "ignore");
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  fs::create_directories(repository / ".git/hooks");
  for (const char* hook : {"pre-commit", "reference-transaction", "post-index-change"}) {
    write_text(repository / ".git/hooks" / hook, "#!/bin/sh\necho ran >&2\nexit 1\n");
    fs::permissions(repository / ".git/hooks" / hook, fs::perms::owner_all);
  }
  const std::string tip = run("rev-parse HEAD", path);
  write_text(path / "file.txt", "changed\n");
  fs::create_directories(path / "deep/er");
  write_text(path / "deep/er/ünïcode name.txt", "new\n");
  write_text(path / "build.log", "noise\n");
  fs::create_directories(path / ".smoke-data/sub");
  write_text(path / ".smoke-data/sub/file", "smoke\n");

  const RemovalRequest request = request_for(job);
  const RemovalOutcome outcome = remove_worktree(request);
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(outcome.rescue_ref, "refs/signalbox/rescue/" + to_string(job.run_id));
  expect_gone(job);
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "changed\n");
  EXPECT_EQ(shown(outcome.rescue_ref + ":deep/er/ünïcode name.txt"), "new\n");
  EXPECT_FALSE(git(repository, {"show", outcome.rescue_ref + ":build.log"}).ok);
  EXPECT_FALSE(git(repository, {"show", outcome.rescue_ref + ":.smoke-data"}).ok);
  EXPECT_EQ(git(repository, {"rev-parse", outcome.rescue_ref + "^1"}).line(), tip);
  EXPECT_EQ(git(repository, {"rev-parse", "refs/heads/" + request.branch}).line(), tip);
  const RemovalOutcome again = remove_worktree(request);
  EXPECT_EQ(again.result, Removal::nothing_there);
  EXPECT_EQ(again.rescue_ref, outcome.rescue_ref) << "the same as the first time";
}

TEST_F(WorktreeRemoval, WhatWasStagedAndThenChangedIsKeptTwice) {
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  write_text(path / "file.txt", "staged\n");
  run("add file.txt", path);
  write_text(path / "file.txt", "later\n");
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "later\n");
  EXPECT_EQ(shown(outcome.rescue_ref + "^2:file.txt"), "staged\n");
}

TEST_F(WorktreeRemoval, AMergeThatStoppedAtAConflictIsKept) {
  set_identity(repository);  // without one, git begins no merge
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  write_text(path / "file.txt", "ours\n");
  commit_all(path, "ours");
  write_text(repository / "file.txt", "theirs\n");
  commit_all(repository, "theirs");
  EXPECT_FALSE(git(path, {"merge", "main"}).ok);
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_NE(shown(outcome.rescue_ref + ":file.txt").find("<<<<<<<"), std::string::npos);
}

// The service's own lock on a worktree that isn't finished has the same reason. What says that this
// one was finished may be lost.
TEST_F(WorktreeRemoval, WorkUnderALockOfTheAgentsIsKept) {  // A1
  for (const bool is_recorded : {true, false}) {
    const Job job = worktree();
    write_text(workspace_of(job) / "file.txt", "precious\n");
    run("worktree lock --reason initializing .", workspace_of(job));
    if (!is_recorded) fs::remove_all(pins_of(job));
    const RemovalOutcome outcome = remove_worktree(request_for(job));
    ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
    EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "precious\n") << is_recorded;
    expect_gone(job);
  }
}

// An unfinished one has no index either.
TEST_F(WorktreeRemoval, NorDoesAMissingIndexMakeItUnfinished) {  // A1, H6
  for (const bool is_recorded : {true, false}) {
    const Job job = worktree();
    const fs::path path = workspace_of(job);
    write_text(path / "file.txt", "precious\n");
    run("worktree lock --reason initializing .", path);
    fs::remove(run("rev-parse --path-format=absolute --git-path index", path));
    if (!is_recorded) fs::remove_all(pins_of(job));
    const auto orphans = list_orphans(repository, site.root() / "runs", {to_string(job.run_id)});
    ASSERT_TRUE(orphans) << orphans.error();
    ASSERT_EQ(orphans->size(), 1U);
    EXPECT_EQ(orphans->front().left_because, "it has uncommitted work") << is_recorded;
    const RemovalOutcome outcome = remove_worktree(request_for(job));
    ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
    EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "precious\n") << is_recorded;
    expect_gone(job);
  }
}

TEST_F(WorktreeRemoval, CommitsThatNoBranchHasAreKept) {
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  run("checkout --quiet --detach", path);
  write_text(path / "file.txt", "committed\n");
  commit_all(path, "detached");
  const std::string commit = run("rev-parse HEAD", path);
  RemovalRequest request = request_for(job);
  request.rescue_unsaved = false;
  EXPECT_EQ(remove_worktree(request).result, Removal::left);
  request.rescue_unsaved = true;
  const RemovalOutcome outcome = remove_worktree(request);
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  run("merge-base --is-ancestor " + commit + " " + outcome.rescue_ref, repository);
}

// Killed between the rescue and the removal; a process of the agent wrote more in between.
TEST_F(WorktreeRemoval, ASecondRescueKeepsTheFirst) {
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  const RemovalRequest request = request_for(job);
  write_text(path / "file.txt", "first\n");
  ASSERT_TRUE(rescue(request).has_value());
  const std::string first = run("rev-parse " + rescue_ref_of(request.run_id), repository);
  ASSERT_TRUE(rescue(request).has_value());
  EXPECT_EQ(run("rev-parse " + rescue_ref_of(request.run_id), repository), first) << "kept already";
  write_text(path / "file.txt", "second\n");
  const RemovalOutcome outcome = remove_worktree(request);
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "second\n");
  EXPECT_EQ(run("rev-parse " + outcome.rescue_ref + "^2", repository), first);
}

// Removes in a forked process that is killed at many moments, and then once without a kill.
TEST_F(WorktreeRemoval, LosesNothingOverRandomKills) {
  for (int round = 0; round < 12; ++round) {
    const Job job = worktree();
    const fs::path path = workspace_of(job);
    write_text(path / "file.txt", "precious\n");
    for (int number = 0; number < 50; ++number) {
      write_text(path / ("new-" + std::to_string(number)), "new\n");
    }
    const RemovalRequest request = request_for(job);
    const pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      (void)remove_worktree(request);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round) * 7'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    RemovalOutcome outcome;
    // A child of the killed process may hold one of git's locks for a moment.
    ASSERT_TRUE(eventually([&] {
      outcome = remove_worktree(request);
      return outcome.result != Removal::left;
    })) << outcome.reason;
    EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "precious\n") << round;
    EXPECT_EQ(shown(outcome.rescue_ref + ":new-49"), "new\n") << round;
    expect_gone(job);
  }
}

TEST_F(WorktreeRemoval, WhatACommitCannotHoldStays) {
  const Job job = worktree();
  const fs::path nested = workspace_of(job) / "vendor/other";
  fs::create_directories(nested);
  run("init --quiet .", nested);
  write_text(nested / "precious.txt", "work\n");
  commit_all(nested,
             "nested");  // git would treat it as a submodule and keep only a reference to it
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  EXPECT_EQ(outcome.result, Removal::left);
  EXPECT_NE(outcome.reason.find("vendor/other/"), std::string::npos) << outcome.reason;
  EXPECT_EQ(content_of(nested / "precious.txt"), "work\n");
  EXPECT_TRUE(is_listed(job));
}

// git reports no change of a file that is marked so.
TEST_F(WorktreeRemoval, HiddenChangesInASubmoduleStay) {  // A1
  const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
  commit_submodule(repository, library, "lib");
  const Job job = worktree();
  const fs::path lib = workspace_of(job) / "lib";
  for (const std::string& mark : std::vector<std::string>{"assume-unchanged", "skip-worktree"}) {
    run("update-index --" + mark + " lib.txt", lib);
    write_text(lib / "lib.txt", "precious\n");
    const RemovalOutcome outcome = remove_worktree(request_for(job));
    EXPECT_EQ(outcome.result, Removal::left) << mark;
    EXPECT_NE(outcome.reason.find("submodule lib"), std::string::npos) << outcome.reason;
    EXPECT_EQ(content_of(lib / "lib.txt"), "precious\n") << mark;
    run("update-index --no-" + mark + " lib.txt", lib);
  }
  run("update-index --skip-worktree lib.txt", lib);
  fs::remove(lib / "lib.txt");
  EXPECT_EQ(remove_worktree(request_for(job)).result, Removal::left) << "the deletion is work";

  write_text(lib / "lib.txt", "lib\n");  // as it was; the mark alone is no work
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  expect_gone(job);
}

TEST_F(WorktreeRemoval, IgnoredFilesOfASubmoduleAreListed) {  // A1
  const fs::path library =
      make_repository(site.root() / "library", {{"lib.txt", "lib\n"}, {".gitignore", "*.log\n"}});
  commit_submodule(repository, library, "lib");
  const Job job = worktree();
  write_text(workspace_of(job) / "lib/build.log", "noise\n");
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(content_of(fs::path(job.run_root) / "left_out.txt"), "lib/build.log\n");
}

TEST_F(WorktreeRemoval, OfManyIgnoredFilesSomeAreNamed) {  // A1
  write_text(repository / ".gitignore", "*.log\n");
  commit_all(repository, "ignored files");
  const Job job = worktree();
  const auto named = [&](std::size_t files) {
    for (std::size_t number = 0; number < files; ++number) {
      write_text(workspace_of(job) / (std::to_string(number) + ".log"), "noise\n");
    }
    RemovalRequest request = request_for(job);
    request.only_look = true;
    const RemovalOutcome outcome = remove_worktree(request);
    EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
    EXPECT_EQ(outcome.ignored.total, files);
    return outcome.ignored.first.size();
  };
  EXPECT_EQ(named(ignored_names_max), ignored_names_max);
  EXPECT_EQ(named(ignored_names_max + 1), ignored_names_max);
}

// A sparse checkout marks the files in the same way that it leaves out.
TEST_F(WorktreeRemoval, AHiddenDeletionIsKeptUnlessTheCheckoutIsSparse) {  // A1
  fs::create_directories(repository / "deep");
  write_text(repository / "deep/other.txt", "other\n");
  commit_all(repository, "other");
  const Job job = worktree();
  run("update-index --skip-worktree deep/other.txt", workspace_of(job));
  fs::remove(workspace_of(job) / "deep/other.txt");
  const RemovalOutcome outcome = remove_worktree(request_for(job));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  ASSERT_FALSE(outcome.rescue_ref.empty());
  EXPECT_FALSE(git(repository, {"show", outcome.rescue_ref + ":deep/other.txt"}).ok);
  EXPECT_EQ(shown(outcome.rescue_ref + ":file.txt"), "one\n");

  const Job sparse = worktree();
  run("sparse-checkout set --no-cone /file.txt", workspace_of(sparse));
  ASSERT_FALSE(fs::exists(workspace_of(sparse) / "deep/other.txt"));
  const RemovalOutcome gone = remove_worktree(request_for(sparse));
  ASSERT_EQ(gone.result, Removal::removed) << gone.reason;
  EXPECT_EQ(gone.rescue_ref, "") << "nothing was deleted";
}

// A merge can be repeated from its inputs, so it needs no rescue, whether published or not.
TEST_F(WorktreeRemoval, AMergeWorktreeGoesWithoutARescue) {  // H6
  const Job work = worktree();
  write_text(workspace_of(work) / "new.txt", "new\n");
  commit_all(workspace_of(work), "work");
  Job merge = builtin("merge");
  merge.workspace = merge.run_root + "/merge-" + to_string(merge.run_id).substr(0, 8);
  merge.input = R"({"branch":")" + branch_of(work.run_id, work.run_token) + R"(","commit":")" +
                run("rev-parse HEAD", workspace_of(work)) + R"(","title":"t"})";
  const JobResult merged = end_of(merge);
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  const RemovalOutcome outcome = remove_worktree(request_for(merge));
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(outcome.rescue_ref, "");
  expect_gone(merge);
}

}  // namespace
}  // namespace signalbox
