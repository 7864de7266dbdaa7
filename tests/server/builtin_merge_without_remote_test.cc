// Tests the stations merge and push on a real repository without a remote, whose own branch moves.
#include "tests/server/merge_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(MergeStations, WithoutARemoteABranchThatNobodyHasCheckedOutMovesOn) {
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  run("checkout --quiet -b elsewhere", repository);
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", repository), run("rev-parse HEAD", workspace_of(merge)));
  EXPECT_EQ(run("symbolic-ref --short HEAD", repository), "elsewhere");
  EXPECT_FALSE(fs::exists(repository / "new.txt"));
  move_base("other.txt", "other\n");
  EXPECT_EQ(end_of(next(merge, "push", 2)).outcome, Outcome::succeeded) << "it is in there";
}

TEST_F(MergeStations, WithoutARemoteACleanCheckoutIsMovedOnWithItsFiles) {
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  write_text(repository / "untracked.txt", "mine\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", repository), run("rev-parse HEAD", workspace_of(merge)));
  EXPECT_EQ(content_of(repository / "new.txt"), "new\n");
  EXPECT_EQ(content_of(repository / "untracked.txt"), "mine\n");
}

// A squash would change the files of the checkout, and leave the branch where it is.
TEST_F(MergeStations, WithoutARemoteTheBranchMovesOnWhateverItsOptionsForMergesAre) {  // A3
  with_remote = false;
  run("config branch.main.mergeOptions --squash", repository);
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", repository), run("rev-parse HEAD", workspace_of(merge)));
  EXPECT_EQ(run("status --porcelain", repository), "");
}

TEST_F(MergeStations, WithoutARemoteIgnoredFilesOfTheCheckoutAreLeftAlone) {  // A1
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", ".env", "API_KEY=agent\n");
  write_text(repository / ".git/info/exclude", ".env\n");
  write_text(repository / ".env", "API_KEY=real\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  EXPECT_EQ(end_of(next(merge, "push")).failure.code, "BASE_CHECKED_OUT");
  EXPECT_EQ(content_of(repository / ".env"), "API_KEY=real\n");
}

TEST_F(MergeStations, WithoutARemoteACheckoutWithChangesIsLeftAlone) {
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const std::string before = run("rev-parse main", repository);
  write_text(repository / "file.txt", "being edited\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "BASE_CHECKED_OUT");
  EXPECT_NE(pushed.failure.message.find(repository.string()), std::string::npos);
  EXPECT_EQ(run("rev-parse main", repository), before);
  EXPECT_EQ(content_of(repository / "file.txt"), "being edited\n");
}

TEST_F(MergeStations, WithoutARemoteACheckoutThatIsGoneIsNamedWithWhatToDo) {
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const fs::path removed = site.root() / "removed";
  run("checkout --quiet -b elsewhere", repository);
  run("worktree add --quiet " + removed.string() + " main", repository);
  fs::remove_all(removed);
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "BASE_CHECKED_OUT");
  const std::string prune = "git -C " + repository.string() + " worktree prune";
  EXPECT_NE(pushed.failure.message.find(removed.string() + ", which isn't there"),
            std::string::npos)
      << pushed.failure.message;
  EXPECT_NE(pushed.failure.message.find(prune), std::string::npos) << pushed.failure.message;
  run("worktree prune", repository);
  EXPECT_EQ(end_of(next(merge, "push", 2)).outcome, Outcome::succeeded);
}

// git lists the repository's directory then instead of the checkout.
TEST_F(MergeStations, WithoutARemoteACheckoutIsMovedOnWhereverItsRepositoryIs) {
  with_remote = false;
  run("init --quiet --separate-git-dir=" + (site.root() / "elsewhere.git").string(), repository);
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(content_of(repository / "new.txt"), "new\n");
  EXPECT_EQ(run("status --porcelain", repository), "");
}

// Whether the checkout is changed, or was moved on by an earlier attempt, isn't known then.
TEST_F(MergeStations, WithoutARemoteACheckoutThatGitCantCompareIsToldWithItsError) {
  with_remote = false;
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  write_text(repository / "file.txt", "being edited\n");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const std::string tree = run("rev-parse HEAD^{tree}", workspace_of(merge));
  ASSERT_TRUE(fs::remove(repository / ".git/objects" / tree.substr(0, 2) / tree.substr(2)));
  const JobResult pushed = end_of(next(merge, "push"));
  EXPECT_EQ(pushed.failure.code, "BASE_CHECKED_OUT");
  EXPECT_NE(pushed.failure.message.find("cannot be read (error: bad tree object"),
            std::string::npos)
      << pushed.failure.message;
  EXPECT_EQ(pushed.failure.message.find("uncommitted"), std::string::npos)
      << pushed.failure.message;
}

// A fast-forward never touches what is checked out of a submodule, and leaves behind the one that
// an older commit names: that is no change of a person's.
TEST_F(MergeStations, WithoutARemoteWhatIsCheckedOutOfASubmoduleIsNoChange) {
  with_remote = false;
  const fs::path module = site.root() / "module";
  run("clone --quiet " + remote.string() + " " + module.string(), site.root());
  run("-c protocol.file.allow=always submodule --quiet add " + module.string() + " module",
      repository);
  commit_all(repository, "with a submodule");
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  run("commit --quiet --allow-empty -m newer", repository / "module");
  ASSERT_NE(run("status --porcelain", repository), "");
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const JobResult pushed = end_of(next(merge, "push"));
  ASSERT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
  EXPECT_EQ(run("rev-parse main", repository), run("rev-parse HEAD", workspace_of(merge)));
  EXPECT_EQ(content_of(repository / "new.txt"), "new\n");

  run("add module", repository);  // now a commit is to have it
  const std::string before = run("rev-parse main", repository);
  const Job second = merge_of("signalbox/y-8", verified("signalbox/y-8", "second.txt", "2\n"));
  ASSERT_EQ(end_of(second).outcome, Outcome::succeeded);
  EXPECT_EQ(end_of(next(second, "push")).failure.code, "BASE_CHECKED_OUT");
  EXPECT_EQ(run("rev-parse main", repository), before);
}

// Git has nothing checked out of the branch then, and sets it back when the rebase is aborted.
TEST_F(MergeStations, WithoutARemoteABranchThatIsBeingRebasedIsLeftAlone) {  // A1
  with_remote = false;
  run("checkout --quiet -b side", repository);
  write_text(repository / "file.txt", "side\n");
  commit_all(repository, "side");
  run("checkout --quiet main", repository);
  write_text(repository / "file.txt", "main\n");
  commit_all(repository, "main");
  const std::string commit = verified("signalbox/x-7", "new.txt", "new\n");
  const std::string before = run("rev-parse main", repository);
  const fs::path linked = site.root() / "linked";
  run("checkout --quiet side", repository);
  run("worktree add --quiet " + linked.string() + " main", repository);
  int attempt = 0;
  const Job merge = merge_of("signalbox/x-7", commit);
  ASSERT_EQ(end_of(merge).outcome, Outcome::succeeded);
  const auto expect_left_alone = [&](const std::string& why) {
    const JobResult pushed = end_of(next(merge, "push", ++attempt));
    EXPECT_EQ(pushed.failure.code, "BASE_CHECKED_OUT") << pushed.failure.message;
    EXPECT_EQ(pushed.failure.message.find(why + ": "), 0U) << pushed.failure.message;
    EXPECT_EQ(run("rev-parse main", repository), before);
  };
  const auto stop_rebase = [](const fs::path& place, const char* backend) {
    EXPECT_FALSE(
        git(place, {"-c", "user.name=t", "-c", "user.email=t@t", "rebase", backend, "side"}).ok);
  };
  stop_rebase(linked, "--merge");
  expect_left_alone("main is being rebased at " + linked.string());
  run("worktree remove --force " + linked.string(), repository);
  run("checkout --quiet main", repository);
  stop_rebase(repository, "--apply");
  expect_left_alone("main is being rebased at " + repository.string());
  run("rebase --abort", repository);
  run("bisect start", repository);
  run("checkout --quiet --detach", repository);
  expect_left_alone("main is being bisected at " + repository.string());
  run("bisect reset", repository);
  const JobResult pushed = end_of(next(merge, "push", ++attempt));
  EXPECT_EQ(pushed.outcome, Outcome::succeeded) << pushed.failure.message;
}

}  // namespace
}  // namespace signalbox
