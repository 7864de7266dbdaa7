// Tests what create_pr tells of the difference that a merge makes, and how it publishes work whose
// agent has done odd things before.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "server/git/run_branch.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class Proposals : public BuiltinStations {
 protected:
  void SetUp() override {
    make_repository(repository, {{"file.txt", "one\n"}, {"AGENTS.md", "weak\n"}});
    make_remote(repository, remote);
  }
  Job begin() {
    Job job = builtin("intake");
    job.base = "main";
    job.definition.remote = "origin";
    const JobResult result = end_of(job);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
    return job;
  }
  // Adds a person's commit to the remote's main.
  void push_from_elsewhere(const std::string& branch = "main") {
    const fs::path clone = site.root() / "clone";
    fs::remove_all(clone);
    run("clone --quiet --branch " + branch + " " + remote.string() + " " + clone.string(),
        site.root());
    write_text(clone / "AGENTS.md", "strict\n");
    write_text(clone / "fix.c", "fixed\n");
    commit_all(clone, "theirs");
    run("push --quiet origin HEAD:refs/heads/" + branch, clone);
  }
  static std::string branch_of_run(const Job& job) { return branch_of(job.run_id, job.run_token); }

  fs::path remote = site.root() / "remote.git";
};

TEST_F(Proposals, CommitsOfABaseThatTheRemoteLacksAreShown) {  // A7
  write_text(repository / "AGENTS.md", "weaker\n");
  commit_all(repository, "an agent wrote this into main");
  const Job intake = begin();
  write_text(workspace_of(intake) / "fine.txt", "fine\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.checks_changed, "AGENTS.md");
  const std::string text = artifact_text(site, result, "pull_request.md");
  EXPECT_NE(text.find("AGENTS.md | 2"), std::string::npos) << text;
  EXPECT_NE(text.find("an agent wrote this into main"), std::string::npos) << text;
}

TEST_F(Proposals, WhatAMergeOfTheBaseTookBackIsShown) {  // A7
  const Job intake = begin();
  push_from_elsewhere();
  const fs::path workspace = workspace_of(intake);
  write_text(workspace / "fine.txt", "fine\n");
  commit_all(workspace, "fine");
  run("fetch --quiet origin", workspace);
  run("-c user.name=a -c user.email=a@localhost merge --quiet -s ours -m merged origin/main",
      workspace);
  // What the repository saw last of the remote is an agent's to write, and so are its branches.
  run("update-ref refs/remotes/origin/main HEAD", workspace);
  run("update-ref -d refs/heads/main", workspace);
  run("tag main HEAD", workspace);
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.checks_changed, "AGENTS.md");
  const std::string text = artifact_text(site, result, "pull_request.md");
  EXPECT_NE(text.find("fix.c"), std::string::npos) << text;
}

TEST_F(Proposals, WhatOthersMergedMeanwhileIsNotTheWorks) {  // A7
  const Job intake = begin();
  push_from_elsewhere();
  write_text(workspace_of(intake) / "fine.txt", "fine\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.checks_changed, "");
  EXPECT_EQ(artifact_text(site, result, "pull_request.md").find("fix.c"), std::string::npos);
}

// Nobody has approved a tag, and it may begin a release.
TEST_F(Proposals, NoTagOfTheAgentsGoesAlong) {  // A7
  run("config push.followTags true", repository);
  const Job intake = begin();
  const fs::path workspace = workspace_of(intake);
  write_text(workspace / "fine.txt", "fine\n");
  commit_all(workspace, "fine");
  run("-c user.name=a -c user.email=a@localhost tag -a v9.0 -m release", workspace);
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("tag --list", remote), "");
  EXPECT_NE(run("branch --list " + branch_of_run(intake), remote), "");
}

// Settings of a person's own, of which some would have git fail, or show less.
TEST_F(Proposals, ASubmoduleThatIsIgnoredIsShown) {  // A7
  const fs::path library = make_repository(site.root() / "library", {{"lib.txt", "lib\n"}});
  commit_submodule(repository, library, "lib");
  run("config --file .gitmodules submodule.lib.ignore all", repository);
  commit_all(repository, "ignored");
  run("push --quiet origin main", repository);
  run("config format.useAutoBase true", repository);
  const Job intake = begin();
  const fs::path lib = workspace_of(intake) / "lib";
  write_text(lib / "lib.txt", "other\n");
  commit_all(lib, "other");
  run("push --quiet origin HEAD:refs/heads/other", lib);
  write_text(workspace_of(intake) / "fine.txt", "fine\n");
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(artifact_text(site, result, "pull_request.md").find("lib  "), std::string::npos)
      << artifact_text(site, result, "pull_request.md");
  EXPECT_NE(artifact_text(site, result, "change.patch").find("+Subproject commit"),
            std::string::npos);
}

TEST_F(Proposals, FilesNamedLikeRevisionsAreFiles) {  // A1
  const Job intake = begin();
  const std::string base = run("rev-parse HEAD", workspace_of(intake));
  for (const std::string& name :
       {std::string("HEAD"), base, base + "..HEAD", std::string("main")}) {
    write_text(workspace_of(intake) / name, "a file\n");
  }
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const JobResult result = end_of(next(intake, "create_pr", attempt));
    ASSERT_EQ(result.outcome, Outcome::succeeded) << attempt << result.failure.message;
  }
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":HEAD", remote), "a file");
}

TEST_F(Proposals, ABranchThatTheAgentPushedAndAmendedIsPushedOver) {  // A1
  const Job intake = begin();
  const fs::path workspace = workspace_of(intake);
  write_text(workspace / "work.txt", "first\n");
  commit_all(workspace, "first");
  run("push --quiet origin HEAD", workspace);
  write_text(workspace / "work.txt", "second\n");
  run("-c user.name=a -c user.email=a@localhost commit --quiet --amend --all -m second", workspace);
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":work.txt", remote), "second");
}

TEST_F(Proposals, WhatOthersPushedToTheBranchStaysAndTheAdviceWorks) {  // A1
  const Job intake = begin();
  const fs::path workspace = workspace_of(intake);
  write_text(workspace / "work.txt", "mine\n");
  commit_all(workspace, "mine");
  run("push --quiet origin HEAD", workspace);
  push_from_elsewhere(branch_of_run(intake));
  const std::string theirs = run("rev-parse " + branch_of_run(intake), remote);
  write_text(workspace / "more.txt", "more\n");
  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "PUSH_FAILED");
  EXPECT_EQ(refused.failure.error_class, ErrorClass::config) << "it doesn't pass by itself";
  EXPECT_EQ(run("rev-parse " + branch_of_run(intake), remote), theirs);
  std::string_view rest = refused.failure.message;
  for (int command = 0; command < 2; ++command) {
    rest.remove_prefix(rest.find("`git ") + 5);
    run(std::string(rest.substr(0, rest.find('`'))), site.root());
  }
  const JobResult result = end_of(next(intake, "create_pr", 2));
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":more.txt", remote), "more");
}

TEST_F(Proposals, AWorktreeWhoseRecordIsGoneIsMadeAnewByTheAdvice) {  // A1
  const Job intake = begin();
  const fs::path workspace = workspace_of(intake);
  write_text(workspace / "work.txt", "work\n");
  commit_all(workspace, "work");
  fs::remove_all(run("rev-parse --absolute-git-dir", workspace));
  const JobResult refused = end_of(next(intake, "create_pr"));
  EXPECT_EQ(refused.failure.code, "WORKSPACE_TAMPERED") << refused.failure.message;
  std::string_view rest = refused.failure.message;
  rest.remove_prefix(rest.find("run `mv ") + 5);
  const std::string move(rest.substr(0, rest.find('`')));
  rest.remove_prefix(rest.find("`git -C ") + 1);
  const std::string add(rest.substr(0, rest.find('`')));
  ASSERT_EQ(std::system((move + " && " + add).c_str()), 0) << refused.failure.message;
  const JobResult result = end_of(next(intake, "create_pr", 2));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(run("show " + branch_of_run(intake) + ":work.txt", remote), "work");
}

TEST_F(Proposals, FilesBelowAPathThatIsTooLongAreNamed) {  // A1
  const Job intake = begin();
  write_text(workspace_of(intake) / "work.txt", "work\n");
  const std::string name(100, 'd');
  const pid_t agent = ::fork();
  if (agent == 0) {
    bool is_there = ::chdir(workspace_of(intake).c_str()) == 0;
    for (int depth = 0; depth < 45; ++depth) {
      is_there = is_there && ::mkdir(name.c_str(), 0777) == 0 && ::chdir(name.c_str()) == 0;
    }
    ::_exit(is_there ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(agent, &status, 0), agent);
  ASSERT_EQ(status, 0);
  const JobResult result = end_of(next(intake, "create_pr"));
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_NE(result.result.summary.find("nobody can read them: 1 directory"), std::string::npos)
      << result.result.summary;
}

}  // namespace
}  // namespace signalbox
