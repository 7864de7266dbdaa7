// Tests what create_pr and the removal of a worktree do with what an agent leaves in its workspace:
// it is committed, kept, or named.
#include <boost/json/parse.hpp>

#include "tests/server/agent_work_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(WorkOfAnAgent, ARepositoryInItIsNeverCommittedAsALink) {  // A1
  const Job intake = begun();
  const fs::path nested = nested_in(intake, "vendor/other");
  const std::string base = run("rev-parse HEAD", workspace_of(intake));
  expect_refused(end_of(next(intake, "create_pr")), "vendor/other");
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(intake)), base) << "nothing was committed";
  EXPECT_EQ(content_of(nested / "precious.txt"), "work\n");

  // What the message says to do.
  fs::remove_all(nested / ".git");
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show HEAD:vendor/other/precious.txt", workspace_of(intake)), "work");
}

TEST_F(WorkOfAnAgent, ALinkThatTheAgentCommittedItselfIsRefused) {  // A1
  const Job intake = begun();
  const fs::path nested = nested_in(intake, "vendor");
  commit_all(workspace_of(intake), "a link");
  expect_refused(end_of(next(intake, "create_pr")), "vendor");

  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  EXPECT_EQ(outcome.result, Removal::left) << "the repository's commits are nowhere else";
  EXPECT_NE(outcome.reason.find("vendor"), std::string::npos) << outcome.reason;
  EXPECT_EQ(content_of(nested / "precious.txt"), "work\n");

  fs::remove_all(nested / ".git");
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show HEAD:vendor/precious.txt", workspace_of(intake)), "work");
}

TEST_F(WorkOfAnAgent, ARepositoryWithoutACommitIsNamed) {  // A1
  const Job intake = begun();
  fs::create_directories(workspace_of(intake) / "fresh");
  run("init --quiet .", workspace_of(intake) / "fresh");
  write_text(workspace_of(intake) / "fresh/file.txt", "work\n");
  expect_refused(end_of(next(intake, "create_pr")), "fresh");
  EXPECT_EQ(remove_worktree(removal_of(intake)).result, Removal::left);
  EXPECT_EQ(content_of(workspace_of(intake) / "fresh/file.txt"), "work\n");
}

TEST_F(WorkOfAnAgent, ASubmoduleThatIsUntouchedStaysAsItIs) {  // A1, A2
  add_submodule();
  const Job intake = begun();
  EXPECT_EQ(content_of(workspace_of(intake) / "lib/lib.txt"), "lib\n");
  const std::string link = run("rev-parse HEAD:lib", workspace_of(intake));
  write_text(workspace_of(intake) / "file.txt", "two\n");
  write_text(workspace_of(intake) / "lib/built.o", "built\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(result.result.summary.find("submodule lib has changes"), std::string::npos)
      << result.result.summary;
  EXPECT_EQ(run("rev-parse HEAD:lib", workspace_of(intake)), link);
  EXPECT_EQ(remove_worktree(removal_of(intake)).result, Removal::left);
  fs::remove(workspace_of(intake) / "lib/built.o");
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
}

TEST_F(WorkOfAnAgent, ASubmodulesOwnCommitsAreNotLost) {  // A1
  add_submodule();
  const Job intake = begun();
  const fs::path lib = workspace_of(intake) / "lib";
  write_text(lib / "lib.txt", "changed\n");
  expect_refused(end_of(next(intake, "create_pr")), "lib");
  commit_all(lib, "its own");
  expect_refused(end_of(next(intake, "create_pr", 2)), "lib");
  EXPECT_EQ(remove_worktree(removal_of(intake)).result, Removal::left);
  EXPECT_EQ(content_of(lib / "lib.txt"), "changed\n");

  run("push --quiet origin HEAD:refs/heads/other", lib);
  const JobResult result = end_of(next(intake, "create_pr", 3));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-parse HEAD:lib", workspace_of(intake)), run("rev-parse HEAD", lib));
}

// git takes the agent's word for it there, too, and says nothing about ignored files.
TEST_F(WorkOfAnAgent, WhatItHidInASubmoduleIsNamed) {  // A1
  add_submodule();
  const Job intake = begun();
  const fs::path lib = workspace_of(intake) / "lib";
  write_text(workspace_of(intake) / "file.txt", "two\n");
  run("update-index --assume-unchanged lib.txt", lib);
  write_text(lib / "lib.txt", "changed\n");
  expect_refused(end_of(next(intake, "create_pr")), "marked as unchanged");

  write_text(lib / "lib.txt", "lib\n");
  write_text(lib / "build.log", "noise\n");
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(artifact_text(site, result, "left_out.txt"), "lib/build.log\n");
}

TEST_F(WorkOfAnAgent, FilesInPlaceOfASubmoduleAreNotLost) {  // A1, A2
  add_submodule();
  run("submodule --quiet deinit --force lib", repository);
  const Job intake = builtin("intake");
  const JobResult made = end_of(intake);
  ASSERT_EQ(made.outcome, Outcome::succeeded) << made.failure.message;
  EXPECT_NE(made.result.summary.find("aren't checked out in it: lib"), std::string::npos)
      << made.result.summary;
  write_text(workspace_of(intake) / "lib/mine.txt", "work\n");
  expect_refused(end_of(next(intake, "create_pr")), "lib");
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":lib/mine.txt", repository), "work");
}

TEST_F(WorkOfAnAgent, IgnoredFilesAreListed) {  // A1
  write_text(repository / ".gitignore", "*.log\nout/\n");
  commit_all(repository, "ignore");
  const Job intake = begun();
  write_text(workspace_of(intake) / "file.txt", "two\n");
  write_text(workspace_of(intake) / "build.log", "noise\n");
  fs::create_directories(workspace_of(intake) / "out/deep");
  write_text(workspace_of(intake) / "out/deep/file", "noise\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(artifact_text(site, result, "left_out.txt"), "build.log\nout/\n");
  EXPECT_NE(result.result.summary.find("build.log, listed in the artifact left_out.txt"),
            std::string::npos)
      << result.result.summary;
  const auto metadata = boost::json::parse(result.result.metadata).as_object();
  const auto& sentences = metadata.at("left_out").as_array();
  ASSERT_EQ(sentences.size(), 1U) << result.result.metadata;
  EXPECT_NE(result.result.summary.find(std::string(sentences.at(0).as_string())),
            std::string::npos);
  // The checks ran beside them, and may have needed them.
  EXPECT_NE(artifact_text(site, result, "pull_request.md").find("- `build.log`\n- `out/`\n"),
            std::string::npos);
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  EXPECT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(content_of(fs::path(intake.run_root) / "left_out.txt"), "build.log\nout/\n");
}

TEST_F(WorkOfAnAgent, ALargeNewFileIsLeftOutAndKept) {  // A1
  run("config signalbox.fileBytesMax 1000", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "file.txt", "two\n");
  write_text(workspace_of(intake) / "core", std::string(2000, 'x'));
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("ls-tree --name-only HEAD", workspace_of(intake)), "file.txt");
  EXPECT_EQ(artifact_text(site, result, "left_out.txt"), "core\n");
  EXPECT_NE(result.result.summary.find("core (2000 bytes)"), std::string::npos)
      << result.result.summary;
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("cat-file -s " + outcome.rescue_ref + ":core", repository), "2000");
}

TEST_F(WorkOfAnAgent, ALargeNewFileAloneIsNothingToPropose) {  // A1
  run("config signalbox.fileBytesMax 1000", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "core", std::string(2000, 'x'));
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "NOTHING_TO_PROPOSE");
  EXPECT_NE(result.failure.message.find("core (2000 bytes)"), std::string::npos)
      << result.failure.message;
}

// A push would carry it along, also if a later commit removes it.
TEST_F(WorkOfAnAgent, ALargeFileInACommitOfTheAgentIsRefused) {  // A1
  run("config signalbox.fileBytesMax 1000", repository);
  const Job intake = begun();
  const std::string base = run("rev-parse HEAD", workspace_of(intake));
  write_text(workspace_of(intake) / "large file", std::string(2000, 'x'));
  write_text(workspace_of(intake) / "file.txt", "two\n");
  commit_all(workspace_of(intake), "with a large file");
  fs::remove(workspace_of(intake) / "large file");
  commit_all(workspace_of(intake), "without it");
  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "FILE_TOO_LARGE") << refused.failure.message;
  EXPECT_EQ(refused.failure.error_class, ErrorClass::terminal);
  EXPECT_NE(refused.failure.message.find("large file (2000 bytes)"), std::string::npos)
      << refused.failure.message;
  EXPECT_NE(refused.failure.message.find(" reset --soft " + base.substr(0, 12) + "`"),
            std::string::npos)
      << refused.failure.message;

  run("reset --soft " + base, workspace_of(intake));  // as the message says
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-list --count " + base + "..HEAD", workspace_of(intake)), "1");
  EXPECT_EQ(run("show HEAD:file.txt", workspace_of(intake)), "two");
}

TEST_F(WorkOfAnAgent, ATrackedFileThatBecameLargeIsRefusedUnlessTheOwnerAllowsIt) {  // A1
  run("config signalbox.fileBytesMax 1000", repository);
  const Job intake = begun();
  const std::string base = run("rev-parse HEAD", workspace_of(intake));
  write_text(workspace_of(intake) / "file.txt", std::string(2000, 'x'));
  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "FILE_TOO_LARGE") << refused.failure.message;
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(intake)), base) << "nothing was committed";

  const std::string pinned =
      (site.root() / "workspaces" / to_string(intake.run_id) / "git/config").string();
  const std::string allow = "config --file " + pinned + " signalbox.fileBytesMax 2000";
  EXPECT_NE(refused.failure.message.find("`git " + allow + "`"), std::string::npos)
      << refused.failure.message;
  EXPECT_NE(refused.failure.message.find("` names the command"), std::string::npos)
      << "it is cut: " << refused.failure.message;
  run(allow, repository);
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("cat-file -s HEAD:file.txt", workspace_of(intake)), "2000");
}

// As LFS does it.
TEST_F(WorkOfAnAgent, AFileThatAFilterMakesSmallIsCommitted) {  // A1, A2
  run("config signalbox.fileBytesMax 1000", repository);
  run_git(repository, {"config", "filter.small.clean", "head -c 10"});
  write_text(repository / ".gitattributes", "*.big filter=small\n");
  commit_all(repository, "attributes");
  const Job intake = begun();
  write_text(workspace_of(intake) / "model.big", std::string(2000, 'x'));
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("cat-file -s HEAD:model.big", workspace_of(intake)), "10");
}

TEST_F(WorkOfAnAgent, AWrongSizeInTheConfigurationIsNamed) {  // A1
  run("config signalbox.fileBytesMax lots", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "file.txt", "two\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "REPOSITORY_INVALID") << result.failure.message;
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find("lots"), std::string::npos) << result.failure.message;
}

// Content that others have already isn't this work's.
TEST_F(WorkOfAnAgent, ALargeFileOfTheBaseIsNoObstacle) {  // A1
  write_text(repository / "asset", std::string(2000, 'x'));
  commit_all(repository, "an asset");
  run("config signalbox.fileBytesMax 1000", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "file.txt", "two\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("cat-file -s HEAD:asset", workspace_of(intake)), "2000");
}

TEST_F(WorkOfAnAgent, LocksOfKilledGitProcessesAreNoObstacle) {  // A1
  const Job intake = begun();
  const fs::path admin = run("rev-parse --absolute-git-dir", workspace_of(intake));
  write_text(workspace_of(intake) / "file.txt", "two\n");
  write_text(admin / "index.lock", "");
  write_text(admin / "HEAD.lock", "");
  write_text(repository / ".git/refs/heads" / (branch_of_run(intake) + ".lock"), "");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":file.txt", repository), "two");
}

TEST_F(WorkOfAnAgent, WorkUnderSuchLocksIsKeptWhenTheWorktreeGoes) {  // A1
  const Job intake = begun();
  const fs::path admin = run("rev-parse --absolute-git-dir", workspace_of(intake));
  run("checkout --quiet --detach", workspace_of(intake));
  write_text(workspace_of(intake) / "first.txt", "first\n");
  commit_all(workspace_of(intake), "on no branch");
  write_text(workspace_of(intake) / "second.txt", "second\n");
  write_text(admin / "index.lock", "");
  write_text(admin / "HEAD.lock", "");
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":first.txt", repository), "first");
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":second.txt", repository), "second");
}

TEST_F(WorkOfAnAgent, WorkOnNoBranchIsCommittedOnTheRunsOwn) {  // A1
  const Job intake = begun();
  run("checkout --quiet --detach", workspace_of(intake));
  write_text(workspace_of(intake) / "first.txt", "first\n");
  commit_all(workspace_of(intake), "detached");
  write_text(workspace_of(intake) / "second.txt", "second\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":first.txt", repository), "first");
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":second.txt", repository), "second");
  EXPECT_EQ(run("symbolic-ref --short HEAD", workspace_of(intake)), branch_of_run(intake));
}

TEST_F(WorkOfAnAgent, ABranchThatTheAgentSwitchedToDoesNotMove) {  // A1
  run("branch theirs", repository);
  const std::string theirs = run("rev-parse theirs", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "left.txt", "left\n");
  commit_all(workspace_of(intake), "on the run's branch");
  run("checkout --quiet theirs", workspace_of(intake));
  write_text(workspace_of(intake) / "new.txt", "new\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-parse theirs", repository), theirs);
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":new.txt", repository), "new");
  const std::string kept = "refs/signalbox/rescue/" + to_string(intake.run_id) + "-branch";
  EXPECT_EQ(run("show " + kept + ":left.txt", repository), "left");
  EXPECT_NE(result.result.summary.find(kept), std::string::npos) << result.result.summary;
  const JobResult again = end_of(next(intake, "create_pr", 2));
  EXPECT_NE(again.result.summary.find(kept), std::string::npos) << again.result.summary;
}

TEST_F(WorkOfAnAgent, ThatIsAllLeftOutIsNamedByTheFailure) {  // A1
  run("branch theirs", repository);
  const Job intake = begun();
  write_text(workspace_of(intake) / "left.txt", "left\n");
  commit_all(workspace_of(intake), "on the run's branch");
  run("checkout --quiet theirs", workspace_of(intake));
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "NOTHING_TO_PROPOSE");
  const std::string kept = "refs/signalbox/rescue/" + to_string(intake.run_id) + "-branch";
  EXPECT_EQ(run("show " + kept + ":left.txt", repository), "left");
  EXPECT_NE(result.failure.message.find(kept), std::string::npos) << result.failure.message;
}

TEST_F(WorkOfAnAgent, ABranchThatTheAgentDeletedIsMadeAgain) {  // A1
  const Job intake = begun();
  run("checkout --quiet --detach", workspace_of(intake));
  run("branch --quiet -D " + branch_of_run(intake), workspace_of(intake));
  write_text(workspace_of(intake) / "new.txt", "new\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-list --count main.." + branch_of_run(intake), repository), "1");
}

// git takes the agent's word for it.
TEST_F(WorkOfAnAgent, WhatItMarkedAsUnchangedIsCommittedAllTheSame) {  // A1
  write_text(repository / "other.txt", "one\n");
  commit_all(repository, "other");
  const Job intake = begun();
  run("update-index --assume-unchanged file.txt", workspace_of(intake));
  run("update-index --skip-worktree other.txt", workspace_of(intake));
  write_text(workspace_of(intake) / "file.txt", "two\n");
  write_text(workspace_of(intake) / "other.txt", "two\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":file.txt", repository), "two");
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":other.txt", repository), "two");
}

TEST_F(WorkOfAnAgent, AndIsKeptWhenTheWorktreeGoes) {  // A1
  const Job intake = begun();
  run("update-index --skip-worktree file.txt", workspace_of(intake));
  write_text(workspace_of(intake) / "file.txt", "two\n");
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":file.txt", repository), "two");
}

// Within one tick of the kernel's clock a file can be added and changed, which leaves its size and
// times as the index has them. Git looks into such files, by the time of the index.
TEST_F(WorkOfAnAgent, AndIsKeptWhenItWasDoneInAnInstant) {  // A1
  run("config core.trustctime false", repository);          // no test can set that time
  const Job intake = begun();
  const fs::path file = workspace_of(intake) / "file.txt";
  const fs::path index =
      fs::path(run("rev-parse --absolute-git-dir", workspace_of(intake))) / "index";
  run("add file.txt", workspace_of(intake));
  const auto instant = fs::last_write_time(file);
  write_text(file, "two\n");
  fs::last_write_time(file, instant);
  fs::last_write_time(index, instant);
  const RemovalOutcome outcome = remove_worktree(removal_of(intake));
  ASSERT_EQ(outcome.result, Removal::removed) << outcome.reason;
  EXPECT_EQ(run("show " + outcome.rescue_ref + ":file.txt", repository), "two");
}

TEST_F(WorkOfAnAgent, ADeletedGitFileLosesNothing) {  // A1
  const Job intake = begun();
  write_text(workspace_of(intake) / "new.txt", "new\n");
  fs::remove(workspace_of(intake) / ".git");
  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "WORKSPACE_TAMPERED") << refused.failure.message;
  EXPECT_EQ(remove_worktree(removal_of(intake)).result, Removal::left);
  EXPECT_EQ(content_of(workspace_of(intake) / "new.txt"), "new\n");

  run("worktree repair", repository);  // as the message says
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":new.txt", repository), "new");
}

}  // namespace
}  // namespace signalbox
