// Tests the stations merge and push on real repositories, with and without a remote.
#include "domain/limits.h"
#include "tests/server/merge_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

TEST_F(MergeStations, MergesIntoTheNewestBaseAndPushes) {  // H11
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  move_base("other.txt", "other\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  const JobResult merged = end_of(merge);
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  const fs::path worktree = workspace_of(merge);
  EXPECT_EQ(content_of(worktree / "new.txt"), "new\n");
  EXPECT_EQ(content_of(worktree / "other.txt"), "other\n") << "the remote's newest base";
  EXPECT_EQ(run("rev-parse HEAD^2", worktree), commit);
  EXPECT_EQ(run("log -1 --format=%s", worktree), "Merge: Greet politely");
  EXPECT_EQ(run("log -1 --format=%(trailers:key=Signalbox-Run,valueonly)", worktree),
            to_string(merge.run_id));
  EXPECT_EQ(metadata_of(merged).at("already_merged"), false);
  EXPECT_NE(run("rev-parse main", remote), run("rev-parse HEAD", worktree)) << "not pushed yet";

  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", remote), run("rev-parse HEAD", worktree));
  EXPECT_EQ(pushed.result.external_ref, run("rev-parse HEAD", worktree));
  EXPECT_EQ(metadata_of(pushed).at("already_pushed"), false);
}

TEST_F(MergeStations, AConflictNamesItsFilesAndLeavesNothingHalf) {  // H11
  const std::string commit = verified("signalbox/x-7", "file.txt", "ours\n");
  move_base("file.txt", "theirs\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  const JobResult result = end_of(merge);
  EXPECT_EQ(result.failure.code, "MERGE_CONFLICT");
  EXPECT_EQ(result.failure.error_class, ErrorClass::terminal);
  EXPECT_NE(result.failure.message.find("file.txt"), std::string::npos) << result.failure.message;
  EXPECT_EQ(run("status --porcelain", workspace_of(merge)), "");
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(merge)), run("rev-parse main", remote));
}

TEST_F(MergeStations, WhatIsMergedAlreadyIsASuccess) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  ASSERT_EQ(end_of(next(merge, "push")).outcome, Outcome::succeeded);
  merge = merge_of("signalbox/x-7", commit);
  const JobResult again = end_of(merge);
  ASSERT_EQ(again.outcome, Outcome::succeeded) << again.failure.message;
  EXPECT_EQ(metadata_of(again).at("already_merged"), true);
  EXPECT_NE(again.result.summary.find("already merged"), std::string::npos);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(metadata_of(pushed).at("already_pushed"), true);
}

// The state after a kill in the middle of the merge: conflict markers, MERGE_HEAD, a locked index.
TEST_F(MergeStations, AHalfDoneMergeIsBegunAnew) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const fs::path worktree = workspace_of(merge);
  const fs::path admin = run("rev-parse --absolute-git-dir", worktree);
  run("reset --quiet --hard HEAD^1", worktree);
  write_text(admin / "MERGE_HEAD", commit + "\n");
  write_text(admin / "index.lock", "");
  write_text(worktree / "file.txt", "<<<<<<<\n");
  write_text(worktree / "stray.txt", "stray\n");
  const JobResult again = end_of(next(merge, "merge", 2));
  ASSERT_EQ(again.outcome, Outcome::succeeded) << again.failure.message;
  EXPECT_EQ(content_of(worktree / "file.txt"), "one\n");
  EXPECT_FALSE(fs::exists(worktree / "stray.txt"));
  EXPECT_EQ(run("rev-parse HEAD^2", worktree), commit);
  EXPECT_EQ(run("status --porcelain", worktree), "");
}

// git begins a worktree with a HEAD of zeros.
TEST_F(MergeStations, AKillWhileGitMakesTheWorktreeHoldsUpNoFetch) {  // A9
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  const fs::path worktree = workspace_of(merge);
  run("worktree add --quiet --no-checkout --detach --lock --reason initializing -- " +
          worktree.string() + " HEAD",
      repository);
  const fs::path admin = run("rev-parse --absolute-git-dir", worktree);
  write_text(admin / "HEAD", std::string(40, '0') + "\n");
  const JobResult merged = end_of(merge);
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  EXPECT_EQ(run("rev-parse HEAD^2", worktree), commit);
}

TEST_F(MergeStations, MergeAndPushConvergeAfterKills) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  int attempt = 0;
  for (int round = 0; round < 10; ++round) {
    kill_after(next(merge, "merge", ++attempt), static_cast<useconds_t>(round) * 12'000);
  }
  const JobResult merged = end_of(next(merge, "merge", ++attempt));
  ASSERT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  const std::string head = run("rev-parse HEAD", workspace_of(merge));
  for (int round = 0; round < 8; ++round) {
    kill_after(next(merge, "push", ++attempt), static_cast<useconds_t>(round) * 12'000);
    // The remote's git is a child of the push here, and was killed as well: what it leaves locked
    // is for the remote's owner, whom git's message tells so.
    for (const char* lock : {"HEAD.lock", "refs/heads/main.lock"}) fs::remove(remote / lock);
  }
  const JobResult pushed = end_of(next(merge, "push", ++attempt));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", remote), head);
  EXPECT_EQ(run("rev-list --count --merges main", remote), "1");
}

TEST_F(MergeStations, ABaseThatMovedIsNotOverwritten) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  move_base("other.txt", "other\n");
  const std::string theirs = run("rev-parse main", remote);
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "BASE_MOVED");
  EXPECT_EQ(pushed.failure.error_class, ErrorClass::terminal);
  EXPECT_EQ(run("rev-parse main", remote), theirs);
}

// Somebody took a commit out of the base while the merge was verified: it stays out.
TEST_F(MergeStations, ABaseThatWasSetBackIsNotMovedOn) {  // H11
  for (const bool has_remote : {true, false}) {
    with_remote = has_remote;
    const std::string branch = has_remote ? "signalbox/x-7" : "signalbox/y-8";
    const std::string commit = verified(branch, branch.substr(10) + ".txt", "new\n");
    if (!has_remote) run("checkout --quiet -b elsewhere", repository);
    const std::string before = run("rev-parse main", base_home());
    move_base("bad.txt", "bad\n");
    const Job merge = merge_of(branch, commit);
    ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
    run("update-ref refs/heads/main " + before, base_home());
    const JobResult pushed = end_of(next(merge, "push"));
    EXPECT_EQ(pushed.failure.code, "BASE_MOVED") << pushed.failure.message;
    EXPECT_EQ(pushed.failure.error_class, ErrorClass::terminal);
    EXPECT_EQ(run("rev-parse main", base_home()), before);

    ASSERT_EQ(end_of(next(merge, "merge", 2)).outcome, Outcome::succeeded);
    const JobResult again = end_of(next(merge, "push", 2));
    ASSERT_EQ(again.outcome, Outcome::succeeded) << again.failure.message;
    EXPECT_EQ(run("ls-tree --name-only main bad.txt", base_home()), "");
  }
}

// Killed between the push and its result; others have built upon the push since.
TEST_F(MergeStations, APushThatHappenedIsRecognised) {  // H11
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const std::string head = run("rev-parse HEAD", workspace_of(merge));
  run("push --quiet origin HEAD:main", workspace_of(merge));
  move_base("other.txt", "other\n");
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(metadata_of(pushed).at("already_pushed"), true);
  EXPECT_EQ(pushed.result.external_ref, head);
}

// Such as that of an agent that began a branch of its own: it can't be merged later, either.
TEST_F(MergeStations, ABranchWithoutACommonCommitIsAConflict) {  // A9
  const fs::path worktree = site.root() / "aside";
  run("worktree add --quiet --detach " + worktree.string() + " main", repository);
  run("checkout --quiet --orphan fresh", worktree);
  commit_all(worktree, "fresh");
  const JobResult merged = end_of(merge_of("fresh", run("rev-parse HEAD", worktree)));
  EXPECT_EQ(merged.failure.code, "MERGE_CONFLICT") << merged.failure.message;
  EXPECT_EQ(merged.failure.error_class, ErrorClass::terminal);
  EXPECT_NE(merged.failure.message.find("no commit in common"), std::string::npos)
      << merged.failure.message;
}

TEST_F(MergeStations, TheMergedBranchOfARunIsRemovedFromTheRemote) {  // A15
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  run("push --quiet origin signalbox/x-7 signalbox/x-7:refs/heads/mine", repository);
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  EXPECT_TRUE(is_at_remote("signalbox/x-7")) << "the merge isn't pushed yet";
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_FALSE(is_at_remote("signalbox/x-7"));
  EXPECT_TRUE(is_at_remote("mine"));
  EXPECT_NE(pushed.result.summary.find("signalbox/x-7 was removed"), std::string::npos)
      << pushed.result.summary;
  // A kill before the result: the next attempt finds it gone.
  EXPECT_EQ(end_of(next(merge, "push", 2)).outcome, Outcome::succeeded);
}

TEST_F(MergeStations, ABranchThatIsntMergedOrNoRunsStaysAtTheRemote) {  // A15
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  run("push --quiet origin signalbox/x-7", repository);
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  // Somebody adds to it before the merge is pushed.
  const fs::path clone = site.root() / "another";
  run("clone --quiet --branch signalbox/x-7 " + remote.string() + " " + clone.string(),
      site.root());
  write_text(clone / "more.txt", "more\n");
  commit_all(clone, "more");
  run("push --quiet origin HEAD:signalbox/x-7", clone);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse signalbox/x-7", remote), run("rev-parse HEAD", clone));
  EXPECT_NE(pushed.result.summary.find("signalbox/x-7 stays there"), std::string::npos)
      << pushed.result.summary;

  const std::string own = verified("feature", "feature.txt", "feature\n");
  run("push --quiet origin feature", repository);
  const Job other = merge_of("feature", own);
  ASSERT_EQ(end_of(other).outcome, Outcome::succeeded);
  ASSERT_EQ(end_of(next(other, "push")).outcome, Outcome::succeeded);
  EXPECT_EQ(run("rev-parse feature", remote), own);
}

TEST_F(MergeStations, ARemoteThatRefusesIsNoSuccess) {  // H7, H11
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  write_text(remote / "hooks/pre-receive", "#!/bin/sh\necho the branch is frozen >&2\nexit 1\n");
  fs::permissions(remote / "hooks/pre-receive", fs::perms::owner_all);
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "PUSH_FAILED");
  EXPECT_NE(pushed.failure.message.find("the branch is frozen"), std::string::npos);
}

TEST_F(MergeStations, ALongMessageOfTheRemotesLeavesRoomForWhatWasChanged) {  // H7
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  write_text(remote / "hooks/pre-receive", "#!/bin/sh\nprintf '%02000d' 0 >&2\nexit 1\n");
  fs::permissions(remote / "hooks/pre-receive", fs::perms::owner_all);
  run("config alias.planted status", repository);
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "PUSH_FAILED");
  EXPECT_LE(pushed.failure.message.size(), limits::reason_bytes_max);
  EXPECT_NE(pushed.failure.message.find("look at alias.planted"), std::string::npos)
      << pushed.failure.message;
}

TEST_F(MergeStations, WhatIsWrongIsNamed) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  Job merge = merge_of("signalbox/x-7", commit);
  merge.input = "{}";
  EXPECT_EQ(end_of(merge).failure.code, "MERGE_INPUT_INVALID");
  merge = merge_of("signalbox/x-7", std::string(40, '1'));
  EXPECT_EQ(end_of(merge).failure.code, "COMMIT_NOT_FOUND");
  merge = merge_of("signalbox/x-7", commit);
  merge.base = "no-such-branch";
  const JobResult absent = end_of(merge);
  EXPECT_EQ(absent.failure.code, "BASE_NOT_FOUND");
  EXPECT_NE(absent.failure.message.find("`git -C " + repository.string() + " push origin " +
                                        merge.base + "`"),
            std::string::npos)
      << absent.failure.message;
  merge = merge_of("signalbox/x-7", commit);
  merge.base = commit;
  merge.definition.remote.clear();
  EXPECT_EQ(end_of(merge).failure.code, "BASE_NOT_BRANCH");
  merge = merge_of("signalbox/x-7", commit);
  merge.definition.remote = (site.root() / "nowhere.git").string();
  const JobResult result = end_of(merge);
  EXPECT_EQ(result.failure.code, "FETCH_FAILED");
  EXPECT_EQ(result.failure.error_class, ErrorClass::transient);
}

// What verifies the merge runs the work's own programs, which can commit.
TEST_F(MergeStations, WhatAChecksProgramCommitsIsNotPublished) {  // A7
  const Job merge = merge_of("signalbox/x-7", verified("signalbox/x-7", "new.txt", "new\n"));
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const std::string merged = run("rev-parse HEAD", workspace_of(merge));
  write_text(workspace_of(merge) / "smuggled.txt", "smuggled\n");
  commit_all(workspace_of(merge), "smuggled");
  Job push = next(merge, "push");
  push.is_of_merge = true;
  push.merge_commit = merged;
  const JobResult pushed = end_of(push);
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", remote), merged);
  EXPECT_EQ(pushed.result.external_ref, merged);
}

// They can write into the run root as well.
TEST_F(MergeStations, TheBranchIsNotTakenFromTheRunRoot) {  // A7
  const Job merge = merge_of("signalbox/x-7", verified("signalbox/x-7", "new.txt", "new\n"));
  run("push --quiet origin main:release", repository);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const std::string before = run("rev-parse main", remote);
  fs::remove_all(site.root() / "workspaces" / to_string(merge.run_id));
  write_text(fs::path(merge.run_root) / "base_branch", "release\n");
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "BASE_UNKNOWN") << pushed.failure.message;
  EXPECT_EQ(pushed.failure.error_class, ErrorClass::config);
  EXPECT_NE(pushed.failure.message.find("signalbox run why " + to_string(merge.run_id)),
            std::string::npos);
  EXPECT_EQ(run("rev-parse main", remote), before);
  EXPECT_EQ(run("rev-parse release", remote), before);
}

TEST_F(MergeStations, TheBaseMayBeNamedAsTheRemotesBranch) {
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  Job merge = merge_of("signalbox/x-7", commit);
  merge.base = "origin/main";
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", remote), run("rev-parse HEAD", workspace_of(merge)));
}

// Git begins a worktree with a HEAD of zeros, and meanwhile each fetch in the repository fails.
TEST_F(MergeStations, AWorktreeThatIsBeingMadeKeepsNoCommitFromBeingFound) {  // H11
  const fs::path clone = site.root() / "clone";
  run("clone --quiet --branch main " + remote.string() + " " + clone.string(), site.root());
  write_text(clone / "new.txt", "new\n");
  commit_all(clone, "work");
  run("push --quiet origin HEAD:refs/heads/signalbox/x-7", clone);
  const fs::path head = head_of_another_worktree();
  // The remote is asked for the base, then for the branch's commit, and for that again.
  const auto write_head = [&head](const std::string& text) {
    return "echo " + text + " > " + head.string() + ";; ";
  };
  const fs::path reached = reach_through("case $n in 2) " + write_head(std::string(40, '0')) +
                                             "3) " + write_head("ref: refs/heads/other") + "esac",
                                         remote);
  const JobResult merged = end_of(merge_of("signalbox/x-7", run("rev-parse HEAD", clone)));
  EXPECT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  EXPECT_EQ(content_of(reached), ".\n.\n.\n");
}

// Git takes them for changes of the worktree, which a merge would overwrite.
TEST_F(MergeStations, AFileThatGitWouldCommitOtherwiseKeepsNoWorkFromBeingMerged) {  // A2
  write_text(repository / "w.txt", "one\r\n");
  commit_all(repository, "line ends");
  write_text(repository / ".gitattributes", "*.txt text\n");
  run("add .gitattributes", repository);
  run("commit --quiet -m attributes", repository);
  run("push --quiet origin main", repository);
  const std::string commit = verified("signalbox/x-7", "w.txt", "two\r\n");
  for (int round = 0; round < 3; ++round) {  // the turn of a second hides it
    const JobResult merged = end_of(merge_of("signalbox/x-7", commit));
    EXPECT_EQ(merged.outcome, Outcome::succeeded) << merged.failure.message;
  }
}

TEST_F(MergeStations, AMergeThatCannotBeSignedIsAMatterOfConfiguration) {  // A9
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  run("config commit.gpgSign true", repository);
  run("config gpg.program false", repository);
  const JobResult merged = end_of(merge_of("signalbox/x-7", commit));
  EXPECT_EQ(merged.failure.code, "REPOSITORY_INVALID") << merged.failure.message;
  EXPECT_EQ(merged.failure.error_class, ErrorClass::config);
}

// Nobody has verified what git remembers of another merge.
TEST_F(MergeStations, AConflictIsNotResolvedAsSomebodyDidBefore) {  // A9
  const std::string commit = verified("signalbox/x-7", "file.txt", "two\n");
  run("config rerere.enabled true", repository);
  run("config rerere.autoUpdate true", repository);
  write_text(repository / "file.txt", "three\n");
  commit_all(repository, "three");
  run("push --quiet origin main", repository);
  EXPECT_FALSE(git(repository, {"-c", "user.name=t", "-c", "user.email=t@t", "merge", commit}).ok);
  write_text(repository / "file.txt", "both\n");
  commit_all(repository, "merged");
  const JobResult merged = end_of(merge_of("signalbox/x-7", commit));
  EXPECT_EQ(merged.failure.code, "MERGE_CONFLICT") << merged.failure.message;
}

}  // namespace
}  // namespace signalbox
