// Tests the removal of worktrees: which ones go and which stay.
#include <fcntl.h>
#include <sys/wait.h>

#include <map>
#include <set>
#include <thread>

#include "server/board/run_change.h"
#include "server/git/fence_marker.h"
#include "server/git/orphan_worktrees.h"
#include "server/git/repository_lock.h"
#include "server/git/tree_removal.h"
#include "store/file_descriptor.h"
#include "tests/server/worktree_removal_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(WorktreeRemoval, ACleanOneGoesAndItsBranchStays) {  // H6
  const Job job = worktree();
  const RemovalRequest request = request_for(job);
  const RemovalOutcome outcome = remove_worktree(request);
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(outcome.rescue_ref, "");
  expect_gone(job);
  run("rev-parse --verify refs/heads/" + request.branch, repository);
  EXPECT_EQ(remove_worktree(request).result, Removal::nothing_there);
}

// The states after a kill at each step: the rename, git's own list, part of the files.
TEST_F(WorktreeRemoval, GoesOnWhereItWasKilled) {  // H6
  const auto pending_delete_path = [](const Job& job) {
    return workspace_of(job).string() + ".removing";
  };
  const std::vector<std::function<void(const Job&)>> kills{
      [&](const Job& job) { fs::rename(workspace_of(job), pending_delete_path(job)); },
      [&](const Job& job) {
        fs::rename(workspace_of(job), pending_delete_path(job));
        fs::remove(fs::path(pending_delete_path(job)) / "file.txt");
        run("worktree prune", repository);
      },
  };
  for (const auto& kill : kills) {
    const Job job = worktree();
    kill(job);
    const RemovalOutcome outcome = remove_worktree(request_for(job));
    EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
    EXPECT_EQ(outcome.rescue_ref, "") << "what was removed halfway is nobody's change";
    expect_gone(job);
  }
  const Job job = worktree();
  fs::remove_all(workspace_of(job));
  EXPECT_EQ(remove_worktree(request_for(job)).result, Removal::nothing_there);
  expect_gone(job);
}

TEST_F(WorktreeRemoval, WhatIsNotARunsWorktreeStays) {
  const Job job = worktree();
  RemovalRequest request = request_for(job);
  request.run_live = true;
  EXPECT_EQ(remove_worktree(request).reason, "its run goes on");
  request = request_for(job);
  request.path = repository;
  EXPECT_NE(remove_worktree(request).reason.find("the repository itself"), std::string::npos);
  request.path = site.root() / "plain";
  fs::create_directory(request.path);
  write_text(request.path / "file", "x");
  EXPECT_NE(remove_worktree(request).reason.find("is not a worktree of"), std::string::npos);
  request.run_id = "../../heads/main";
  EXPECT_EQ(remove_worktree(request).result, Removal::left);
  EXPECT_TRUE(fs::exists(repository / "file.txt"));
  EXPECT_TRUE(fs::exists(site.root() / "plain/file"));
}

// Two runs name one run root: the second makes its worktree after the first one ended.
TEST_F(WorktreeRemoval, TheWorktreeOfAnotherRunStays) {  // A15, H6
  const Job ended = worktree();
  const Job fresh = worktree();
  RemovalRequest request = request_for(ended);
  request.path = workspace_of(fresh);
  request.rescue_unsaved = false;
  EXPECT_EQ(remove_worktree(request).reason, "it isn't known to be this run's");
  // Without a marker nobody knows whose it is, so it stays only where others make worktrees.
  fs::remove(fs::path(run("rev-parse --absolute-git-dir", workspace_of(fresh))) /
             fence_marker_name);
  request.is_shared = true;
  EXPECT_EQ(remove_worktree(request).reason, "it isn't known to be this run's");
  EXPECT_EQ(content_of(workspace_of(fresh) / "file.txt"), "one\n");
  request = request_for(fresh);
  EXPECT_EQ(remove_worktree(request).result, Removal::removed);
}

// Two runs used one run root, on a disk that isn't mounted when the first one's files expire.
TEST_F(WorktreeRemoval, TheRecordOfAnotherRunStaysWithoutItsDirectory) {  // A15, H6
  const Job ended = worktree();
  const Job kept = worktree();
  const fs::path path = workspace_of(kept);
  run("checkout --quiet --detach", path);
  write_text(path / "file.txt", "committed\n");
  commit_all(path, "detached");
  const fs::path away = site.root() / "unmounted";
  RemovalRequest request = request_for(ended);
  request.path = path;
  request.rescue_unsaved = false;
  request.is_shared = true;
  fs::rename(path, away);
  for (const bool has_mount_point : {false, true}) {
    if (has_mount_point) fs::create_directory(path);
    for (const bool only_look : {true, false}) {
      request.only_look = only_look;
      const RemovalOutcome outcome = remove_worktree(request);
      EXPECT_EQ(outcome.result, Removal::left);
      EXPECT_EQ(outcome.reason, "git's record of it isn't known to be this run's");
      EXPECT_TRUE(is_listed(kept));
    }
  }
  fs::remove(path);
  fs::rename(away, path);
  EXPECT_EQ(run("show HEAD:file.txt", path), "committed");

  // Its own record stays while the whole root is away.
  request = request_for(kept);
  request.is_shared = true;
  fs::rename(path.parent_path(), away);
  const RemovalOutcome outcome = remove_worktree(request);
  EXPECT_EQ(outcome.result, Removal::left);
  EXPECT_NE(outcome.reason.find("isn't there, and git has"), std::string::npos) << outcome.reason;
  fs::rename(away, path.parent_path());
  EXPECT_EQ(remove_worktree(request).result, Removal::removed);
}

TEST_F(WorktreeRemoval, AnIntakeDoesntDropTheRecordOfAnotherRun) {  // A15
  const Job kept = worktree();
  const fs::path path = workspace_of(kept);
  const fs::path away = site.root() / "unmounted";
  fs::rename(path, away);
  Job fresh = builtin("intake");
  fresh.run_root = kept.run_root;
  fresh.workspace = kept.workspace;
  const JobResult taken = end_of(fresh);
  EXPECT_EQ(taken.failure.code, "WORKSPACE_TAKEN") << taken.failure.message;
  EXPECT_NE(taken.failure.message.find(to_string(kept.run_id)), std::string::npos);
  EXPECT_TRUE(is_listed(kept));
  fs::rename(away, path);
  EXPECT_EQ(run("show HEAD:file.txt", path), "one");
  // The intake of the run itself makes it anew.
  fs::remove_all(path);
  EXPECT_EQ(end_of(next(kept, "intake", 2)).outcome, Outcome::succeeded);
  // One that is there is set aside, and stays a worktree; also if its agent has locked it as the
  // service does while it makes one.
  run("worktree lock --reason initializing .", path);
  write_text(path / "new.txt", "precious\n");
  EXPECT_EQ(end_of(next(fresh, "intake", 2)).outcome, Outcome::succeeded);
  EXPECT_EQ(run("show HEAD:file.txt", path.string() + ".set-aside-1"), "one");
  EXPECT_EQ(content_of(path.string() + ".set-aside-1/new.txt"), "precious\n");
}

// A person's own, in a run root that is named for a run.
TEST_F(WorktreeRemoval, AnIntakeDoesntDropTheRecordOfAPersonsWorktree) {  // A15
  const fs::path path = site.root() / "named" / "workspace";
  run("worktree add --quiet --detach " + path.string(), repository);
  write_text(path / "mine.txt", "precious\n");
  commit_all(path, "on no branch");
  Job fresh = builtin("intake");
  fresh.run_root = path.parent_path().string();
  fresh.workspace = path.string();
  EXPECT_EQ(end_of(fresh).outcome, Outcome::succeeded);
  EXPECT_EQ(run("show HEAD:mine.txt", path.string() + ".set-aside-1"), "precious");
  // Nor if its disk isn't mounted.
  const fs::path away = site.root() / "other" / "workspace";
  run("worktree add --quiet --detach " + away.string(), repository);
  fs::remove_all(away);
  Job other = builtin("intake");
  other.run_root = away.parent_path().string();
  other.workspace = away.string();
  const JobResult taken = end_of(other);
  EXPECT_EQ(taken.failure.code, "WORKSPACE_TAKEN") << taken.failure.message;
  EXPECT_NE(taken.failure.message.find("of no run"), std::string::npos) << taken.failure.message;
}

// A setting of a person's own with which git says how many stashes there are.
TEST_F(WorktreeRemoval, AStashIsNoChangeOfAWorktree) {  // A15
  const Job job = worktree();
  run("config status.showStash true", repository);
  write_text(repository / "file.txt", "stashed\n");
  run("stash", repository);
  RemovalRequest request = request_for(job);
  request.rescue_unsaved = false;
  const RemovalOutcome outcome = remove_worktree(request);
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
}

// Somebody puts a link to other directories in the place of the run root after it was opened.
TEST_F(WorktreeRemoval, OnlyWhatIsInTheOpenDirectoryGoes) {  // A15
  const Job job = worktree();
  const Job other = worktree();
  const FileDescriptor held(
      ::open(workspace_of(job).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(held);
  RemovalRequest request = request_for(other);
  request.rescue_unsaved = false;
  request.held_parent = held_directory(held);
  const RemovalOutcome outcome = remove_worktree(request);
  EXPECT_EQ(outcome.result, Removal::left);
  EXPECT_NE(outcome.reason.find("was exchanged"), std::string::npos) << outcome.reason;
  for (const Job& each : {job, other}) {
    EXPECT_EQ(content_of(workspace_of(each) / "file.txt"), "one\n");
  }
  request = request_for(job);
  request.rescue_unsaved = false;
  request.held_parent = held_directory(held);
  EXPECT_EQ(remove_worktree(request).result, Removal::removed);
  expect_gone(job);
  // A root that isn't there: only git's list and the run's ref are looked after.
  request.held_parent = held_directory(FileDescriptor());
  EXPECT_EQ(remove_worktree(request).result, Removal::nothing_there);
}

TEST_F(WorktreeRemoval, ALookSaysTheSameAndRemovesNothing) {  // A15
  const Job job = worktree();
  const fs::path path = workspace_of(job);
  RemovalRequest look = request_for(job);
  look.rescue_unsaved = false;
  look.only_look = true;
  write_text(path / "new.txt", "new\n");
  EXPECT_EQ(remove_worktree(look).reason, "it has uncommitted work");
  // Also of a repository that isn't pinned any more, or that an earlier version didn't pin.
  fs::remove_all(look.pins);
  EXPECT_EQ(remove_worktree(look).reason, "it has uncommitted work");
  fs::remove(path / "new.txt");
  EXPECT_EQ(remove_worktree(look).result, Removal::removed);
  EXPECT_TRUE(fs::exists(path / "file.txt"));
  EXPECT_TRUE(is_listed(job));
  look.only_look = false;
  EXPECT_EQ(remove_worktree(look).result, Removal::removed);
  expect_gone(job);
  look.only_look = true;
  EXPECT_EQ(remove_worktree(look).result, Removal::nothing_there);
}

// Runs as another user, because root may write to read-only directories.
TEST(TreeRemoval, ReadOnlyDirectoriesGoAndLinksAreNotFollowed) {
  const TemporaryDirectory place;
  fs::permissions(place.path(), fs::perms::all);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
    const fs::path tree = place.path() / "tree";
    fs::create_directories(tree / "a/b");
    fs::create_directories(place.path() / "kept");
    write_text(place.path() / "kept/file", "x");
    write_text(tree / "a/b/file", "x");
    fs::create_directory_symlink(place.path() / "kept", tree / "a/link");
    fs::permissions(tree / "a/b", fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(tree / "a", fs::perms::none);
    const bool removed = remove_tree(tree).has_value();
    const bool right = removed && !fs::exists(tree) && fs::exists(place.path() / "kept/file") &&
                       remove_tree(tree).has_value();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(WorktreeRemoval, OrphansThatAreCleanGoAndTheOthersAreTold) {  // H6
  const Job live = worktree();
  const Job clean = worktree();
  const Job dirty = worktree();
  write_text(workspace_of(dirty) / "file.txt", "changed\n");
  const Job vanished = worktree();
  Job merge = builtin("merge");
  merge.workspace = merge.run_root + "/merge-" + to_string(merge.run_id).substr(0, 8);
  merge.input = R"({"branch":"main","commit":"main","title":"t"})";
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  run("worktree add --quiet --detach " + (site.root() / "elsewhere").string(), repository);
  fs::remove_all(workspace_of(vanished));

  std::set<std::string> over;
  for (const Job& each : {clean, dirty, vanished, merge}) over.insert(to_string(each.run_id));
  const auto outcomes = remove_orphans(repository, site.root() / "runs", over);
  ASSERT_TRUE(outcomes.has_value()) << outcomes.error();
  std::map<std::string, std::string> results;
  for (const OrphanOutcome& each : *outcomes) {
    results[each.orphan.run_id] =
        each.outcome.result == Removal::removed ? "removed" : each.outcome.reason;
  }
  const std::map<std::string, std::string> expected{
      {to_string(clean.run_id), "removed"},
      {to_string(vanished.run_id), "removed"},
      {to_string(dirty.run_id), "it has uncommitted work"},
      {to_string(merge.run_id), "it may hold a merge to be looked at"}};
  EXPECT_EQ(results, expected);
  expect_gone(clean);
  expect_gone(vanished);
  EXPECT_TRUE(is_listed(live));
  EXPECT_EQ(content_of(workspace_of(dirty) / "file.txt"), "changed\n");
  EXPECT_TRUE(fs::exists(workspace_of(merge)));
  EXPECT_TRUE(fs::exists(site.root() / "elsewhere"));
}

// The retention of files looks into worktrees of runs that are over, too, on another thread.
TEST_F(WorktreeRemoval, OrphansAreNotLookedIntoWhileAnotherOneDoes) {  // H6
  const Job job = worktree();
  fs::remove(pins_of(job) / "workspace.json");
  write_text(pins_of(job) / "of-another", "");
  const std::set<std::string> over{to_string(job.run_id)};
  tl::expected<std::vector<OrphanOutcome>, std::string> outcomes;
  std::thread work;
  bool is_left_alone = true;
  {
    const auto lock = RepositoryLock::take(repository);
    ASSERT_TRUE(lock.has_value()) << lock.error();
    work = std::thread([&] { outcomes = remove_orphans(repository, site.root() / "runs", over); });
    // An absence can only be observed for a while.
    for (int round = 0; round < 100 && is_left_alone; ++round) {
      is_left_alone = fs::exists(pins_of(job) / "of-another");
      ::usleep(5'000);
    }
  }
  work.join();
  EXPECT_TRUE(is_left_alone);
  ASSERT_TRUE(outcomes.has_value()) << outcomes.error();
  ASSERT_EQ(outcomes->size(), 1U);
  EXPECT_EQ(outcomes->front().outcome.result, Removal::removed) << outcomes->front().outcome.reason;
  expect_gone(job);
}

// The removal is the service's own doing: what it runs isn't taken for a job.
TEST_F(WorktreeRemoval, RunsNoFilterOfTheRepository) {  // A10, G12
  const fs::path ran = site.root() / "ran";
  run_git(repository, {"config", "filter.evil.clean", "sh -c 'touch " + ran.string() + "; cat'"});
  run_git(repository, {"config", "lfs.extension.evil.clean", "touch " + ran.string()});
  write_text(repository / ".git/info/attributes", "* filter=evil\n");
  const Job job = worktree();
  write_text(workspace_of(job) / "file.txt", "changed\n");
  write_text(workspace_of(job) / "new.txt", "new\n");
  fs::remove(ran);
  RemovalRequest request = request_for(job);
  const RunChangePlace place{job.run_id, job.run_token, repository, workspace_of(job),
                             pins_of(job)};
  const auto change = run_change(place, {}, 0);
  ASSERT_TRUE(change.has_value()) << change.error();
  EXPECT_EQ(change->value().files, 2U);
  const RemovalOutcome removed = remove_worktree(request);
  EXPECT_EQ(removed.result, Removal::removed) << removed.reason;
  EXPECT_EQ(shown(removed.rescue_ref + ":new.txt"), "new\n") << "as it was in the worktree";
  EXPECT_EQ(shown(removed.rescue_ref + ":file.txt"), "changed\n");
  EXPECT_FALSE(fs::exists(ran));
}

}  // namespace
}  // namespace signalbox
