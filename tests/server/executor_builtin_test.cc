// Tests the stations intake and create_pr on real repositories.
#include <csignal>

#include "server/git/run_branch.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

TEST_F(BuiltinStations, IntakeWithoutRepositoryMakesAnEmptyWorkspace) {
  Job job = builtin("intake");
  job.repository.clear();
  EXPECT_EQ(end_of(job).outcome, Outcome::succeeded);
  EXPECT_TRUE(fs::is_empty(workspace_of(job)));
}

TEST_F(BuiltinStations, IntakeMakesAWorktreeOnItsBranch) {  // H6
  const Job job = builtin("intake");
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n");
  EXPECT_EQ(run("symbolic-ref HEAD", workspace_of(job)),
            "refs/heads/" + branch_of(job.run_id, job.run_token));
  const std::string base = run("rev-parse main", repository);
  EXPECT_EQ(result.result.metadata, R"({"base_commit":")" + base + R"(","branch":")" +
                                        branch_of(job.run_id, job.run_token) + "\"}");
}

TEST_F(BuiltinStations, IntakeNamesWhatIsWrong) {  // A9
  Job job = builtin("intake");
  job.repository = (site.root() / "nowhere").string();
  const Failure away = end_of(job).failure;
  EXPECT_EQ(away.code, "REPOSITORY_AWAY");
  EXPECT_EQ(away.error_class, ErrorClass::transient) << "its disk may be mounted again";
  job = builtin("intake");
  fs::create_directory(repository / "below");
  job.repository = (repository / "below").string();
  EXPECT_EQ(end_of(job).failure.code, "REPOSITORY_INVALID");
  job = builtin("intake");
  fs::create_directory(site.root() / "line\nbreak");
  job.repository = (site.root() / "line\nbreak").string();
  const Failure broken = end_of(job).failure;
  EXPECT_EQ(broken.code, "REPOSITORY_INVALID");
  EXPECT_NE(broken.message.find("has a line break"), std::string::npos) << broken.message;
  job = builtin("intake");
  job.base = "no-such-branch";
  const JobResult result = end_of(job);
  EXPECT_EQ(result.failure.code, "BASE_NOT_FOUND");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
}

TEST_F(BuiltinStations, IntakeAgainKeepsTheBaseAndUncommittedWork) {
  const Job job = builtin("intake");
  ASSERT_EQ(end_of(job).outcome, Outcome::succeeded);
  const std::string base = run("rev-parse main", repository);
  write_text(workspace_of(job) / "file.txt", "changed\n");
  write_text(repository / "other.txt", "two\n");
  commit_all(repository, "second");
  const JobResult again = end_of(next(job, "intake", 2));
  ASSERT_EQ(again.outcome, Outcome::succeeded) << again.failure.message;
  EXPECT_NE(again.result.metadata.find(base), std::string::npos);
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "changed\n");
}

// The states that git leaves when it is killed in the middle of `worktree add`.
TEST_F(BuiltinStations, IntakeRepairsAHalfMadeWorktree) {
  const Job job = builtin("intake");
  ASSERT_EQ(end_of(job).outcome, Outcome::succeeded);
  const fs::path admin = run("rev-parse --absolute-git-dir", workspace_of(job));
  const std::vector<std::function<void()>> damages{
      [&] {  // in the checkout
        write_text(admin / "locked", "initializing\n");
        write_text(admin / "index.lock", "");
        fs::remove(workspace_of(job) / "file.txt");
      },
      [&] {  // before the workspace got its .git file
        write_text(admin / "locked", "initializing\n");
        fs::remove_all(workspace_of(job));
        fs::create_directory(workspace_of(job));
      },
      [&] { fs::remove_all(workspace_of(job)); },
      [&] { fs::remove_all(admin); },
  };
  int attempt = 1;
  for (const auto& damage : damages) {
    damage();
    const JobResult result = end_of(next(job, "intake", ++attempt));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << attempt << result.failure.message;
    EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n") << attempt;
    EXPECT_EQ(run("status --porcelain", workspace_of(job)), "") << attempt;
  }
}

TEST_F(BuiltinStations, IntakeThrowsNothingAwayThatIsInItsWay) {
  const Job job = builtin("intake");
  fs::create_directories(workspace_of(job));
  write_text(workspace_of(job) / "precious", "work\n");
  ASSERT_EQ(end_of(job).outcome, Outcome::succeeded);
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n");
  EXPECT_EQ(content_of(workspace_of(job).string() + ".set-aside-1/precious"), "work\n");
}

// After a kill at a random moment, a later attempt converges.
TEST_F(BuiltinStations, IntakeConvergesAfterKills) {
  const Job job = builtin("intake");
  int attempt = 0;
  for (int round = 0; round < 12; ++round) {
    kill_after(next(job, "intake", ++attempt), static_cast<useconds_t>(round) * 2'000);
  }
  const JobResult result = end_of(next(job, "intake", ++attempt));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n");
  EXPECT_EQ(run("status --porcelain", workspace_of(job)), "");
}

TEST_F(BuiltinStations, CreatePrCommitsAndLeavesPatchAndText) {
  run("config diff.noprefix true", repository);
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "file.txt", "two\n");
  const Job job = next(intake, "create_pr");
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  const std::string patch = artifact_text(site, result, "change.patch");
  EXPECT_NE(patch.find("-one\n+two\n"), std::string::npos) << patch;
  const std::string text = artifact_text(site, result, "pull_request.md");
  EXPECT_EQ(text.rfind("# Make it work\n", 0), 0U) << text;
  EXPECT_NE(text.find("file.txt"), std::string::npos);
  EXPECT_EQ(run("rev-list --count main.." + branch_of(job.run_id, job.run_token), repository), "1");
  EXPECT_EQ(end_of(next(job, "create_pr", 2)).outcome, Outcome::succeeded);
  EXPECT_EQ(run("rev-list --count main.." + branch_of(job.run_id, job.run_token), repository), "1");

  // The patch applies to the base.
  write_text(site.root() / "change.patch", patch);
  run("apply --check " + (site.root() / "change.patch").string(), repository);
}

TEST_F(BuiltinStations, CreatePrPushesWhereARemoteIsConfigured) {
  const fs::path remote = site.root() / "remote.git";
  run("init --quiet --bare " + remote.string(), site.root());
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  Job job = next(intake, "create_pr");
  job.definition.remote = remote.string();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const JobResult result = end_of(next(job, "create_pr", attempt));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("rev-parse " + branch_of(job.run_id, job.run_token), remote),
              run("rev-parse HEAD", workspace_of(job)));
  }
}

// Git takes such a path as relative to the worktree, which isn't where the repository is.
TEST_F(BuiltinStations, CreatePrPushesToARemoteThatIsBesideTheRepository) {  // A9
  const fs::path remote = site.root() / "remote.git";
  run("init --quiet --bare " + remote.string(), site.root());
  run("remote add origin ../remote.git", repository);
  for (const std::string name : {"origin", "../remote.git"}) {
    SCOPED_TRACE(name);
    Job intake = builtin("intake");
    intake.definition.remote = name;
    ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
    write_text(workspace_of(intake) / "new.txt", "new\n");
    const JobResult result = end_of(next(intake, "create_pr"));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(run("rev-parse " + branch_of(intake.run_id, intake.run_token), remote),
              run("rev-parse HEAD", workspace_of(intake)));
  }
}

TEST_F(BuiltinStations, PushFailureIsNotSuccess) {  // H7
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  Job job = next(intake, "create_pr");
  job.definition.remote = (site.root() / "no-remote.git").string();
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.failure.code, "PUSH_FAILED");
  EXPECT_EQ(result.failure.error_class, ErrorClass::transient);
  EXPECT_NE(result.failure.message.find("no-remote.git"), std::string::npos);

  // The work isn't lost, and the command that the message names publishes it.
  run("init --quiet --bare " + job.definition.remote, site.root());
  const std::string& message = result.failure.message;
  const std::string before = "`git -C " + repository.string() + " ";
  const std::size_t begin = message.find(before);
  ASSERT_NE(begin, std::string::npos) << message;
  const std::size_t end = message.find('`', begin + 1);
  const std::size_t rest = begin + before.size();
  run(message.substr(rest, end - rest), repository);
  EXPECT_EQ(run("rev-parse " + branch_of(job.run_id, job.run_token), job.definition.remote),
            run("rev-parse HEAD", workspace_of(job)));
  EXPECT_EQ(end_of(next(job, "create_pr", 2)).outcome, Outcome::succeeded);
}

// The credentials aren't shown, and without them the command would fail.
TEST_F(BuiltinStations, APushThatNeedsCredentialsNamesNoCommand) {  // H7
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  Job job = next(intake, "create_pr");
  job.definition.remote = "https://me:hush@127.0.0.1:1/work.git";
  const std::string message = end_of(job).failure.message;
  EXPECT_EQ(message.find("hush"), std::string::npos) << message;
  EXPECT_EQ(message.find('`'), std::string::npos) << message;
  EXPECT_NE(message.find("push the branch " + branch_of(job.run_id, job.run_token) + " of " +
                         repository.string() + " with the remote's credentials"),
            std::string::npos)
      << message;
}

TEST_F(BuiltinStations, AFailedPushWarnsOfAChangedConfigurationBeforeItsCommand) {  // H7
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  for (int number = 0; number < 20; ++number) {
    run("config filter." + std::string(60, 'x') + std::to_string(number) + ".clean cat",
        repository);
  }
  Job job = next(intake, "create_pr");
  job.definition.remote = (site.root() / "no-remote.git").string();
  const std::string message = end_of(job).failure.message;
  const std::size_t warning = message.find("was changed.");
  const std::size_t command = message.find("this publishes it as well: `git -C ");
  ASSERT_NE(warning, std::string::npos) << message;
  ASSERT_NE(command, std::string::npos) << message;
  EXPECT_LT(warning, command);
  EXPECT_EQ(message.back(), '`') << message;
}

// Git pushes all refs of such a clone or none, unless it is told otherwise.
TEST_F(BuiltinStations, ARemoteThatIsMirroredGetsTheBranchOfARun) {  // A9
  const fs::path mirror = site.root() / "mirror.git";
  run("clone --quiet --mirror " + repository.string() + " " + mirror.string(), site.root());
  Job intake = builtin("intake");
  intake.repository = mirror.string();
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  Job job = next(intake, "create_pr");
  job.definition.remote = "origin";
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("rev-parse " + branch_of(job.run_id, job.run_token), repository),
            result.result.external_ref);
  fs::rename(repository, site.root() / "away");
  write_text(workspace_of(intake) / "new.txt", "newer\n");
  const std::string message = end_of(next(job, "create_pr", 2)).failure.message;
  EXPECT_NE(message.find(" -c remote.origin.mirror=false push -- origin "), std::string::npos)
      << message;
}

TEST_F(BuiltinStations, CreatePrWithoutChangesProposesNothing) {
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "NOTHING_TO_PROPOSE");
  EXPECT_EQ(result.failure.error_class, ErrorClass::terminal);
}

TEST_F(BuiltinStations, CreatePrSaysThatAMockHasWorked) {  // A12
  Job intake = builtin("intake");
  intake.mocked = Mocked::agents;
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  const JobResult failed = end_of(next(intake, "create_pr"));
  EXPECT_EQ(failed.failure.code, "NOTHING_TO_PROPOSE");
  EXPECT_NE(failed.failure.message.find("was a mock"), std::string::npos);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  const JobResult proposed = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(proposed.outcome, Outcome::succeeded) << proposed.failure.message;
  EXPECT_NE(proposed.result.summary.find("was a mock"), std::string::npos);
}

// The run goes on to its end, and its result says what it is.
TEST_F(BuiltinStations, CreatePrOfAMockRunSucceedsWithoutAChange) {  // A12
  Job intake = builtin("intake");
  intake.mocked = Mocked::everything;
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.result.summary.find("Mock create_pr: nothing was proposed, since nothing was "),
            0U)
      << result.result.summary;
  Job without = next(intake, "create_pr", 2);
  without.repository.clear();
  result = end_of(without);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(result.result.summary.find("the run has no repository"), std::string::npos);
}

TEST_F(BuiltinStations, CreatePrWithoutAWorktreeIsAMatterOfConfiguration) {
  // The data directory may itself lie in a repository; that one must not be touched.
  run("init --quiet .", site.root());
  Job intake = builtin("intake");
  intake.repository.clear();
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "WORKSPACE_NOT_REPOSITORY");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
}

// The hooks are those that intake found; what is put there later may be an agent's.
TEST_F(BuiltinStations, RefusalOfACommitHookIsTold) {
  fs::create_directories(repository / ".git/hooks");
  write_text(repository / ".git/hooks/pre-commit",
             "#!/bin/sh\necho a secret is in it >&2\nexit 1\n");
  fs::permissions(repository / ".git/hooks/pre-commit", fs::perms::owner_all);
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  fs::remove(repository / ".git/hooks/pre-commit");
  write_text(workspace_of(intake) / "new.txt", "new\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "COMMIT_FAILED");
  EXPECT_NE(result.failure.message.find("a secret is in it"), std::string::npos);
}

// No other work of an agent would be signed either.
TEST_F(BuiltinStations, ACommitThatCannotBeSignedIsAMatterOfConfiguration) {  // A9
  run("config commit.gpgSign true", repository);
  run("config gpg.program false", repository);
  const Job intake = builtin("intake");
  ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  EXPECT_EQ(result.failure.code, "REPOSITORY_INVALID") << result.failure.message;
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find("failed to sign"), std::string::npos)
      << result.failure.message;
}

// Those of husky read a file that git ignores, and others a script beside their directory.
TEST_F(BuiltinStations, HooksOfTheWorktreeFindWhatLiesBesideThem) {  // A1
  const fs::path linted = site.root() / "linted";
  for (const std::string hooks : {".hooks", "tools/hooks"}) {
    SCOPED_TRACE(hooks);
    run("config core.hooksPath " + hooks, repository);
    const fs::path directory = repository / hooks;
    fs::create_directories(directory / "_");
    fs::create_directories(directory / "../scripts");
    write_text(repository / ".gitignore", "_/\n");
    write_text(directory / "_/names.sh", "name=" + hooks + "\n");
    write_text(directory / "pre-commit",
               "#!/bin/sh\n. \"$(dirname \"$0\")/_/names.sh\"\n"
               "exec \"$(dirname \"$0\")/../scripts/lint.sh\" \"$name\"\n");
    write_text(directory / "../scripts/lint.sh",
               "#!/bin/sh\necho \"$1\" > '" + linted.string() + "'\n");
    for (const char* name : {"pre-commit", "../scripts/lint.sh"}) {
      fs::permissions(directory / name, fs::perms::owner_all);
    }
    commit_all(repository, "hooks");
    const Job intake = builtin("intake");
    ASSERT_EQ(end_of(intake).outcome, Outcome::succeeded);
    write_text(workspace_of(intake) / "new.txt", "new\n");
    const JobResult result = end_of(next(intake, "create_pr"));
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    EXPECT_EQ(content_of(linted), hooks + "\n");
  }
}

// Else the agent would work, and the checks judge, in a worktree that was never set up.
TEST_F(BuiltinStations, ACheckoutHookThatFailedRunsAgain) {  // A3
  fs::create_directories(repository / ".git/hooks");
  const fs::path hook = repository / ".git/hooks/post-checkout";
  const fs::path tried = site.root() / "tried";
  write_text(hook, "#!/bin/sh\nif [ ! -e '" + tried.string() + "' ]; then touch '" +
                       tried.string() + "'; echo no network >&2; exit 1; fi\necho up >set-up\n");
  fs::permissions(hook, fs::perms::owner_all);
  const Job intake = builtin("intake");
  const JobResult failed = end_of(intake);
  EXPECT_EQ(failed.failure.code, "WORKTREE_FAILED");
  EXPECT_NE(failed.failure.message.find("no network"), std::string::npos);
  EXPECT_EQ(end_of(next(intake, "intake", 2)).outcome, Outcome::succeeded);
  EXPECT_EQ(content_of(workspace_of(intake) / "set-up"), "up\n");
}

TEST(GitCommand, CredentialsAreTakenOutOfMessages) {
  EXPECT_EQ(without_credentials("to 'https://me:hush@host/x' and ssh://a@b/c@d"),
            "to 'https://host/x' and ssh://b/c@d");
  EXPECT_EQ(without_credentials("https://host/path"), "https://host/path");
}

}  // namespace
}  // namespace signalbox
