// Tests where the station intake begins a run's work if there is a remote, and what the stations
// say of a repository that isn't there.
#include "server/board/repository_check.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class IntakeOfARemote : public BuiltinStations {
 protected:
  void SetUp() override {
    BuiltinStations::SetUp();
    make_remote(repository, remote);
  }
  // Adds somebody else's commit to a branch of the remote; returns it.
  std::string push_from_elsewhere(const std::string& file, const std::string& branch = "main") {
    const fs::path clone = site.root() / "clone";
    fs::remove_all(clone);
    run("clone --quiet --branch main " + remote.string() + " " + clone.string(), site.root());
    write_text(clone / file, "theirs\n");
    commit_all(clone, "theirs");
    run("push --quiet origin HEAD:refs/heads/" + branch, clone);
    return run("rev-parse HEAD", clone);
  }
  Job intake_from(const std::string& base) {
    Job job = builtin("intake");
    job.base = base;
    job.definition.remote = "origin";
    return job;
  }
  JobResult begin(const Job& job) {
    JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return result;
  }

  fs::path remote = site.root() / "remote.git";
};

TEST_F(IntakeOfARemote, WorkBeginsAtTheRemotesBranch) {  // A3
  const std::string merged = push_from_elsewhere("merged.txt");
  for (const char* base : {"", "main", "refs/heads/main", "origin/main"}) {
    SCOPED_TRACE(base);
    const Job job = intake_from(base);
    const JobResult result = begin(job);
    EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), merged);
    EXPECT_EQ(content_of(workspace_of(job) / "merged.txt"), "theirs\n");
    EXPECT_NE(result.result.metadata.find(merged), std::string::npos);
  }
  EXPECT_NE(run("rev-parse main", repository), merged) << "the owner's branch stays";
}

TEST_F(IntakeOfARemote, WithoutOneWorkBeginsAtTheRepositorysOwnBranch) {  // A3
  push_from_elsewhere("merged.txt");
  Job job = intake_from("main");
  job.definition.remote.clear();
  begin(job);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), run("rev-parse main", repository));
}

TEST_F(IntakeOfARemote, ARepeatedIntakeKeepsItsBase) {  // A3
  const Job job = intake_from("main");
  begin(job);
  const std::string base = run("rev-parse HEAD", workspace_of(job));
  push_from_elsewhere("merged.txt");
  EXPECT_NE(begin(next(job, "intake", 2)).result.metadata.find(base), std::string::npos);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), base);
}

// Else the agent would work for nothing, since its branch can't be pushed.
TEST_F(IntakeOfARemote, ABranchInTheWayOfThoseOfRunsIsRefusedWithWhatToDo) {  // H6
  const auto refused = [&] {
    const JobResult result = end_of(intake_from("main"));
    EXPECT_EQ(result.failure.code, "REPOSITORY_INVALID") << result.failure.message;
    EXPECT_EQ(result.failure.error_class, ErrorClass::config);
    EXPECT_NE(result.failure.message.find("`git branch -m signalbox NEW`"), std::string::npos)
        << result.failure.message;
    return result.failure.message;
  };
  run("branch signalbox main", remote);
  EXPECT_EQ(refused().find("origin has a branch signalbox"), 0U);
  run("branch -m signalbox theirs", remote);
  run("branch signalbox main", repository);
  EXPECT_EQ(refused().find(repository.string() + " has a branch signalbox"), 0U);
  PutProject project;
  project.name = "site";
  project.repository = repository.string();
  const auto checked = check_repository(project);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().next_commands,
            std::vector<std::string>{"git -C " + repository.string() + " branch -m signalbox NEW"});
  run("branch -m signalbox mine", repository);
  begin(intake_from("main"));
}

TEST_F(IntakeOfARemote, CommitsThatTheRemoteLacksAreThere) {  // A3
  write_text(repository / "mine.txt", "mine\n");
  commit_all(repository, "not pushed");
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_EQ(content_of(workspace_of(job) / "mine.txt"), "mine\n");
  EXPECT_NE(result.result.summary.find("doesn't have yet"), std::string::npos)
      << result.result.summary;
}

TEST_F(IntakeOfARemote, TheRemoteCountsWhereBothWentOn) {  // A3
  push_from_elsewhere("merged.txt");
  write_text(repository / "mine.txt", "mine\n");
  commit_all(repository, "not pushed");
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_TRUE(fs::exists(workspace_of(job) / "merged.txt"));
  EXPECT_FALSE(fs::exists(workspace_of(job) / "mine.txt"));
  EXPECT_NE(result.result.summary.find("begins without them"), std::string::npos)
      << result.result.summary;
}

TEST_F(IntakeOfARemote, ATagOrACommitIsWhatItIs) {  // A3
  const std::string first = run("rev-parse main", repository);
  run("tag v1 main", repository);
  push_from_elsewhere("merged.txt");
  for (const std::string& base : {std::string("v1"), first}) {
    const Job job = intake_from(base);
    begin(job);
    EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), first) << base;
  }
}

// Git itself takes them first.
TEST_F(IntakeOfARemote, ATagOrAFileOfTheBranchsNameIsNotTheBase) {  // A3, A7
  const std::string base = run("rev-parse refs/heads/main", repository);
  run("checkout --quiet --detach", repository);
  write_text(repository / "planted.txt", "planted\n");
  commit_all(repository, "planted");
  const std::string planted = run("rev-parse HEAD", repository);
  run("tag main", repository);
  write_text(repository / ".git/main", planted + "\n");
  for (const char* remote_name : {"", "origin"}) {
    Job job = intake_from("main");
    job.definition.remote = remote_name;
    begin(job);
    EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), base) << remote_name;
  }
}

TEST_F(IntakeOfARemote, ABranchThatOnlyTheRemoteHasIsFound) {  // A3
  const std::string release = push_from_elsewhere("release.txt", "release");
  const Job job = intake_from("release");
  begin(job);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), release);
  EXPECT_EQ(end_of(intake_from("nowhere")).failure.code, "BASE_NOT_FOUND");
}

TEST_F(IntakeOfARemote, ARemoteThatIsAwayIsSaidAndNotWaitedFor) {  // A3
  run("fetch --quiet origin", repository);
  const std::string known = push_from_elsewhere("merged.txt");
  run("fetch --quiet origin", repository);
  push_from_elsewhere("later.txt");
  fs::rename(remote, site.root() / "gone.git");
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), known) << "as far as the repository knows";
  EXPECT_NE(result.result.summary.find("origin didn't answer"), std::string::npos)
      << result.result.summary;
}

TEST_F(IntakeOfARemote, ARemoteThatHangsIsGivenUp) {  // A3
  run("remote set-url origin ssh://git@127.0.0.1/nowhere.git", repository);
  run_git(repository, {"config", "core.sshCommand", "sleep 300; :"});
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n");
  EXPECT_NE(result.result.summary.find("ended after 3000 ms"), std::string::npos)
      << result.result.summary;
}

TEST_F(IntakeOfARemote, ARepositoryThatIsAwayIsNoTampering) {  // A9
  const Job intake = intake_from("main");
  begin(intake);
  write_text(workspace_of(intake) / "new.txt", "new\n");
  fs::rename(repository, site.root() / "unmounted");
  const JobResult away = end_of(next(intake, "create_pr"));
  EXPECT_EQ(away.failure.code, "REPOSITORY_AWAY") << away.failure.message;
  EXPECT_EQ(away.failure.error_class, ErrorClass::transient);
  fs::rename(site.root() / "unmounted", repository);
  EXPECT_EQ(end_of(next(intake, "create_pr", 2)).outcome, Outcome::succeeded);
}

// Git begins a worktree with a HEAD of zeros, and meanwhile each fetch in the repository fails.
TEST_F(IntakeOfARemote, AFetchThatFailsWhileAWorktreeIsMadeIsRepeated) {  // A3
  const std::string merged = push_from_elsewhere("merged.txt");
  const fs::path head = head_of_another_worktree();
  write_text(head, std::string(40, '0') + "\n");
  // The remote is asked for its branch, and for the commits; the worktree is made when it is asked
  // for them again.
  const fs::path reached =
      reach_through("[ $n -lt 3 ] || echo ref: refs/heads/other > " + head.string(), remote);
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), merged) << result.result.summary;
  EXPECT_EQ(content_of(reached), ".\n.\n.\n");
}

// The work of an earlier run would be missing from the run that is to go on with it.
TEST_F(IntakeOfARemote, SoIsThatOfEarlierWork) {  // A3
  const std::string earlier = to_string(site.job("earlier").run_id);
  const std::string branch = "signalbox/" + earlier + "-7";
  const std::string commit = push_from_elsewhere("earlier.txt", branch);
  const fs::path head = head_of_another_worktree();
  // The remote is asked for the branches of that run, and then for the one that it has.
  const auto write_head = [&head](const std::string& text) {
    return "echo " + text + " > " + head.string() + ";; ";
  };
  reach_through("case $n in 2) " + write_head(std::string(40, '0')) + "3) " +
                    write_head("ref: refs/heads/other") + "esac",
                remote);
  Job job = intake_from("v1");
  run("tag v1 main", repository);
  job.input = R"({"failed_merge":{"branch":")" + branch + R"("}})";
  const JobResult result = begin(job);
  EXPECT_EQ(run("rev-parse refs/heads/" + branch, repository), commit) << result.result.summary;
}

// As after a power failure, of a run that nobody tries again: no fetch would succeed any more.
TEST_F(IntakeOfARemote, AWorktreeThatWasNeverMadeKeepsNoOtherRunBack) {  // A3
  const Job begun = builtin("intake");
  begin(begun);
  const fs::path record = run("rev-parse --absolute-git-dir", workspace_of(begun));
  write_text(record / "HEAD", std::string(40, '0') + "\n");
  const std::string merged = push_from_elsewhere("merged.txt");
  const Job job = intake_from("main");
  const JobResult result = begin(job);
  EXPECT_EQ(run("rev-parse HEAD", workspace_of(job)), merged) << result.result.summary;
}

}  // namespace
}  // namespace signalbox
