// An agent that turns its workspace against the service: it replaces `.git`, or sets up programs in
// the configuration that all worktrees of the repository share. The service's own git commands run
// none of them, and push nowhere else.
#include <signal.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/git_repository.h"
#include "tests/fixtures/random_seed.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class HostileWorkspace : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    make_repository(repository(), {{"file.txt", "one\n"}});
    make_remote(repository(), remote());
    set_identity(repository());
    run_git(scratch_.path(), {"init", "--quiet", "--bare", elsewhere().string()});
    write_program(evil(),
                  "#!/bin/sh\necho \"$0 $*\" >> '" + marker().string() + "'\ncat\nexit 0\n");
  }
  [[nodiscard]] fs::path repository() const { return scratch_.path() / "repository"; }
  [[nodiscard]] fs::path remote() const { return scratch_.path() / "remote.git"; }
  [[nodiscard]] fs::path elsewhere() const { return scratch_.path() / "elsewhere.git"; }
  // The program that must never run, and the file that shows that it did.
  [[nodiscard]] fs::path evil() const { return scratch_.path() / "evil"; }
  [[nodiscard]] fs::path marker() const { return scratch_.path() / "marker"; }
  static void write_program(const fs::path& path, const std::string& text) {
    write_text(path, text);
    fs::permissions(path, fs::perms::owner_all);
  }

  // Starts a run whose agent runs `script` in its workspace, with the directory of the test as $D,
  // the program that must not run as $EVIL, and $REPOSITORY. Returns its id.
  [[nodiscard]] std::string start(const std::string& script, const std::string& more = {}) const {
    write_text(scratch_.path() / "agent.sh", "set -e\nD='" + scratch_.path().string() +
                                                 "'\nEVIL='" + evil().string() + "'\nREPOSITORY='" +
                                                 repository().string() + "'\n" + script + "\n");
    return start_run_of(
        "name = \"hostile\"\n"
        "[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
        "[[station]]\nname = \"implement\"\nexecutor = \"process\"\n"
        "command = [\"sh\", \"" +
            (scratch_.path() / "agent.sh").string() + "\"]\n[station.retry]\nmax_retries = 0\n" +
            more +
            "[[station]]\nname = \"create_pr\"\nexecutor = \"builtin\"\n"
            "remote = \"origin\"\n[station.retry]\nmax_retries = 0\n",
        "add a file", {"--repository", repository().string()});
  }
  // Blocks until the run has ended, and expects its status. Returns the run.
  json::object end_of(const std::string& run_id, const std::string& status) const {
    await([&] {
      const std::string now = text(run(run_id), "status");
      return now == "succeeded" || now == "failed";
    });
    const json::object ended = run(run_id);
    EXPECT_EQ(text(ended, "status"), status) << json::serialize(ended);
    return ended;
  }
  std::string failure_of(const std::string& run_id) const {
    const auto failed = events(run_id, "RunFailed");
    return failed.empty() ? "" : json::serialize(failed.at(0));
  }
  static std::string refs_of(const fs::path& directory) {
    return git(directory, {"for-each-ref", "--format=%(refname)"}).output;
  }
  void expect_no_harm() const {
    EXPECT_EQ(content_of(marker()), "") << "a program of the agent's ran";
    EXPECT_EQ(refs_of(elsewhere()), "") << "something was pushed elsewhere";
  }
  void expect_pushed(const std::string& run_id, const std::string& file,
                     const std::string& content) const {
    const std::string ref = refs_of(remote());
    EXPECT_NE(ref.find("refs/heads/signalbox/" + run_id), std::string::npos) << ref;
    const std::string branch = ref.substr(ref.find("refs/heads/signalbox/"));
    EXPECT_EQ(git(remote(), {"show", branch.substr(0, branch.find('\n')) + ":" + file}).output,
              content);
  }
};

constexpr const char* hostile_repository =
    "git init --quiet evil-repository\n"
    "cd evil-repository\n"
    "git -c user.name=e -c user.email=e@e commit --quiet --allow-empty -m e\n"
    "git remote add origin \"$D/elsewhere.git\"\n"
    "git config core.fsmonitor \"$EVIL\"\n"
    "git config user.name e; git config user.email e@e\n"
    "cp \"$EVIL\" .git/hooks/pre-commit; cp \"$EVIL\" .git/hooks/pre-push\n"
    "cd ..\n";

TEST_F(HostileWorkspace, AReplacedGitIsNoticedAndNothingRunsInIt) {  // G12
  const std::vector<std::string> replacements{
      // a repository of its own
      "rm .git; mv evil-repository/.git .git; rmdir evil-repository; echo new > new.txt",
      // a file that points to another repository
      "mv evil-repository \"$D/hidden-$SIGNALBOX_RUN_ID\"; "
      "echo \"gitdir: $D/hidden-$SIGNALBOX_RUN_ID/.git\" > .git; echo new > new.txt",
      // a link to one
      "mv evil-repository \"$D/hidden-$SIGNALBOX_RUN_ID\"; rm .git; "
      "ln -s \"$D/hidden-$SIGNALBOX_RUN_ID/.git\" .git; echo new > new.txt",
      // the right file, but the worktree's own directory points elsewhere
      "mv evil-repository \"$D/hidden-$SIGNALBOX_RUN_ID\"; own=$(git rev-parse --git-dir); "
      "echo \"$D/hidden-$SIGNALBOX_RUN_ID/.git\" > \"$own/commondir\"; echo new > new.txt",
  };
  for (const std::string& replacement : replacements) {
    SCOPED_TRACE(replacement);
    const std::string run_id = start(hostile_repository + replacement);
    end_of(run_id, "failed");
    EXPECT_NE(failure_of(run_id).find("WORKSPACE_TAMPERED"), std::string::npos)
        << failure_of(run_id);
    expect_no_harm();
    EXPECT_EQ(refs_of(remote()).find("signalbox/"), std::string::npos) << refs_of(remote());
    EXPECT_EQ(content_of(server_.data() / "runs" / run_id / "workspace/new.txt"), "new\n")
        << "the worktree is kept";
  }
}

TEST_F(HostileWorkspace, AfterALookTheRunGoesOnWithTheWorkOfItsWorktree) {  // G12
  const std::string run_id =
      start(std::string(hostile_repository) +
            "rm .git; mv evil-repository/.git .git; rmdir evil-repository; echo new > new.txt");
  end_of(run_id, "failed");
  const fs::path workspace = server_.data() / "runs" / run_id / "workspace";
  fs::rename(workspace / ".git", scratch_.path() / "found.git");
  // The two commands that the message names, and the one that the second of them names.
  const std::string message = failure_of(run_id);
  EXPECT_NE(message.find("git -C " + repository().string() + " worktree repair"),
            std::string::npos);
  EXPECT_NE(message.find("signalbox run why " + run_id), std::string::npos) << message;
  EXPECT_EQ(shell("git -C repository worktree repair").exit_code, 0);
  const Output why = paste("signalbox run why " + run_id);
  EXPECT_NE(why.out.find("signalbox run retry "), std::string::npos) << why.out;
  EXPECT_EQ(paste("signalbox run retry " + run_id).exit_code, 0);
  await_status(run_id, "succeeded");
  expect_no_harm();
  expect_pushed(run_id, "new.txt", "new\n");
}

// The checks of an empty directory that the service made in its place would pass.
TEST_F(HostileWorkspace, AWorktreeThatIsGoneIsNoticedAndItsCommitsArePushedOnceItIsBack) {  // A1
  const std::string verify =
      "[[station]]\nname = \"verify\"\nexecutor = \"process\"\ncommand = [\"sh\", \"-c\", "
      "\"pwd >> '" +
      (scratch_.path() / "verified").string() + "'\"]\n";
  // The file and the link make the message name a command more.
  const fs::path other = scratch_.path() / "other";
  const std::vector<std::pair<std::string, std::size_t>> replacements{
      {"", 2},
      {"mkdir -p \"$D/other\"; ln -s \"$D/other\" \"$gone\"", 3},
      {"echo file > \"$gone\"", 3}};
  const FaultRotation rotation(3);
  std::size_t turn = 0;
  for (const auto& [replacement, commands] : replacements) {
    for (const std::string& more : {verify, std::string()}) {
      // Each run tries one with the station that verifies and one without.
      if ((turn++ / 2 + (more.empty() ? 1 : 0)) % rotation.stride != rotation.first) continue;
      SCOPED_TRACE(replacement + more);
      const std::string run_id = start(
          "echo new > new.txt; git add new.txt; git commit --quiet -m new\n"
          "gone=$PWD; cd /; rm -rf \"$gone\"; " +
              replacement,
          more);
      end_of(run_id, "failed");
      const std::string message = failure_of(run_id);
      EXPECT_NE(message.find("WORKSPACE_TAMPERED"), std::string::npos) << message;
      EXPECT_EQ(content_of(scratch_.path() / "verified"), "") << "a command ran elsewhere";
      EXPECT_EQ(paste_commands_of(message), commands) << message;
      EXPECT_TRUE(!fs::exists(other) || fs::is_empty(other)) << "something was written elsewhere";
      EXPECT_EQ(paste("signalbox run retry " + run_id).exit_code, 0);
      await_status(run_id, "succeeded");
      expect_pushed(run_id, "new.txt", "new\n");
      EXPECT_EQ(content_of(scratch_.path() / "verified").empty(), more.empty());
      fs::remove(scratch_.path() / "verified");
    }
  }
}

// A repository in its place has what the agent likes.
TEST_F(HostileWorkspace, ChecksRunInNoOtherRepository) {  // G12
  const std::string checks =
      "[[station]]\nname = \"verify\"\nexecutor = \"checks\"\n[[station.checks]]\nname = \"it\"\n"
      "command = [\"sh\", \"-c\", \"pwd >> '" +
      (scratch_.path() / "verified").string() + "'\"]\n";
  const std::string run_id = start(
      std::string(hostile_repository) + "rm .git; mv evil-repository/.git .git; echo new > new.txt",
      checks);
  end_of(run_id, "failed");
  EXPECT_NE(failure_of(run_id).find("WORKSPACE_TAMPERED"), std::string::npos) << failure_of(run_id);
  EXPECT_EQ(content_of(scratch_.path() / "verified"), "");
  EXPECT_EQ(content_of(server_.data() / "runs" / run_id / "workspace/new.txt"), "new\n")
      << "the worktree is kept";
}

// Nothing says any more that it runs.
TEST_F(HostileWorkspace, AJobThatRemovesItsDirectoryIsExecutedOnce) {  // P3
  const fs::path executed = scratch_.path() / "executed";
  const std::string run_id = start_run_of(
      "name = \"forgetful\"\n[[station]]\nname = \"work\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"-c\", \"echo $$ >> '" +
          executed.string() +
          "'; rm -rf $(dirname $SIGNALBOX_ARTIFACTS_DIR); exec sleep 1000\"]\n"
          "[station.retry]\nmax_retries = 0\n",
      "forget it", {});
  end_of(run_id, "failed");
  EXPECT_NE(failure_of(run_id).find("JOB_LOST"), std::string::npos) << failure_of(run_id);
  const std::string pids = content_of(executed);
  EXPECT_EQ(std::count(pids.begin(), pids.end(), '\n'), 1) << pids;
  EXPECT_NE(::kill(std::stoi(pids), 0), 0) << "it is left at work";
}

// The service would write its own files there.
TEST_F(HostileWorkspace, ALinkInPlaceOfARunRootIsNotFollowed) {  // G1
  const fs::path other = scratch_.path() / "other";
  fs::create_directory(other);
  const std::string run_id = start_run_of(
      "name = \"linked\"\n"
      "[[station]]\nname = \"work\"\nexecutor = \"process\"\ncommand = [\"sh\", \"-c\", \"cd /; "
      "mv $SIGNALBOX_RUN_ROOT $SIGNALBOX_RUN_ROOT.moved; ln -s '" +
          other.string() +
          "' $SIGNALBOX_RUN_ROOT\"]\n"
          "[[station]]\nname = \"next\"\nexecutor = \"process\"\ncommand = [\"touch\", "
          "\"ran\"]\n",
      "move it", {});
  end_of(run_id, "failed");
  EXPECT_NE(failure_of(run_id).find("RUN_ROOT_INVALID"), std::string::npos) << failure_of(run_id);
  EXPECT_NE(failure_of(run_id).find("symbolic link"), std::string::npos) << failure_of(run_id);
  EXPECT_TRUE(fs::is_empty(other)) << "something was written elsewhere";
}

// All worktrees of a repository share this configuration.
TEST_F(HostileWorkspace, ProgramsInTheSharedConfigurationAreNotRun) {  // G12
  const std::string run_id = start(
      "echo '*.txt diff=evil merge=evil' > .gitattributes\n"
      "echo new > new.txt; echo changed > file.txt\n"
      "common=$(git rev-parse --git-common-dir)\n"
      "mkdir -p hooks \"$common/hooks\"\n"
      "for hook in pre-commit commit-msg post-commit pre-push reference-transaction "
      "post-index-change; do\n"
      "  cp \"$EVIL\" hooks/$hook; cp \"$EVIL\" \"$common/hooks/$hook\"\n"
      "done\n"
      "put() { git config --file \"$common/config\" \"$@\"; }\n"
      "put remote.origin.url \"$D/elsewhere.git\"\n"
      "put remote.origin.pushurl \"$D/elsewhere.git\"\n"
      "put remote.origin.receivepack \"$EVIL\"; put remote.origin.uploadpack \"$EVIL\"\n"
      "put \"url.$D/elsewhere.git.pushInsteadOf\" \"$D/remote.git\"\n"
      "put \"url.$D/elsewhere.git.insteadOf\" \"$D/remote.git\"\n"
      "put core.fsmonitor \"$EVIL\"; put core.hooksPath hooks; put core.sshCommand \"$EVIL\"\n"
      "put core.pager \"$EVIL\"; put core.editor \"$EVIL\"; put core.askPass \"$EVIL\"\n"
      "put alias.status \"!$EVIL\"; put diff.external \"$EVIL\"; put credential.helper \"$EVIL\"\n"
      "put filter.evil.clean \"$EVIL\"; put filter.evil.smudge \"$EVIL\"; "
      "put filter.evil.required true\n"
      "put diff.evil.command \"$EVIL\"; put diff.evil.textconv \"$EVIL\"\n"
      "put gpg.program \"$EVIL\"; put commit.gpgSign true; put log.showSignature true\n"
      "put extensions.worktreeConfig true\n"
      "own=$(git -c core.fsmonitor=false rev-parse --git-dir)\n"
      "git config --file \"$own/config.worktree\" core.fsmonitor \"$EVIL\"\n"
      "printf '[core]\\n\\tfsmonitor = %s\\n' \"$EVIL\" > \"$D/included\"\n"
      "put include.path \"$D/included\"\n");
  end_of(run_id, "succeeded");
  expect_no_harm();
  expect_pushed(run_id, "new.txt", "new\n");
  const std::string summary =
      text(rpc("run.artifact", {{"run_id", run_id}, {"name", "create_pr_summary"}}), "content");
  for (const char* key : {"core.fsmonitor", "remote.origin.url", "filter.evil.clean", "hooks"}) {
    EXPECT_NE(summary.find(key), std::string::npos) << summary;
  }
}

// Without it, its files would be committed otherwise than the attributes say.
TEST_F(HostileWorkspace, AFilterThatTheAgentSetUpIsNotRun) {  // G12, A1
  const std::string run_id = start(
      "echo '*.txt filter=evil' > .gitattributes; echo new > new.txt\n"
      "git config filter.evil.clean \"$EVIL\"; git config filter.evil.required true\n");
  end_of(run_id, "failed");
  EXPECT_NE(failure_of(run_id).find("FILE_REFUSED"), std::string::npos) << failure_of(run_id);
  expect_no_harm();
  EXPECT_EQ(refs_of(remote()).find("signalbox/"), std::string::npos) << refs_of(remote());
}

// A repository in the workspace has a configuration of its own. It is inspected, and then refused.
TEST_F(HostileWorkspace, ProgramsInANestedRepositoryAreNotRun) {  // G12, A1
  for (const char* add : {"", "git add evil-repository 2>/dev/null\n"}) {
    SCOPED_TRACE(add);
    const std::string run_id = start(std::string(hostile_repository) + add +
                                     "echo new > new.txt; echo dirty > evil-repository/dirty.txt");
    end_of(run_id, "failed");
    EXPECT_NE(failure_of(run_id).find("NESTED_REPOSITORY"), std::string::npos)
        << failure_of(run_id);
    expect_no_harm();
    EXPECT_EQ(refs_of(remote()).find("signalbox/"), std::string::npos) << refs_of(remote());
  }
}

// What the message says to do is enough for the work to be tried again, and to be pushed.
TEST_F(HostileWorkspace, AfterAPersonsDecisionTheFilesOfANestedRepositoryArePushed) {  // A1
  const std::string run_id = start(
      "mkdir vendor; cd vendor; git init --quiet; echo precious > precious.txt; git add .\n"
      "git -c user.name=e -c user.email=e@e commit --quiet -m precious\n");
  end_of(run_id, "failed");
  const std::string message = failure_of(run_id);
  const fs::path nested = server_.data() / "runs" / run_id / "workspace/vendor/.git";
  EXPECT_NE(message.find("rm -rf " + nested.string()), std::string::npos) << message;
  EXPECT_EQ(shell("rm -rf " + nested.string()).exit_code, 0);
  const Output why = paste("signalbox run why " + run_id);
  EXPECT_NE(why.out.find("signalbox run retry "), std::string::npos) << why.out;
  EXPECT_EQ(paste("signalbox run retry " + run_id).exit_code, 0);
  await_status(run_id, "succeeded");
  expect_pushed(run_id, "vendor/precious.txt", "precious\n");
}

// Programs aren't run in one either that is the repository's submodule.
TEST_F(HostileWorkspace, ProgramsInASubmoduleAreNotRun) {  // G12
  write_text(repository() / ".gitmodules",
             "[submodule \"evil\"]\n\tpath = evil-repository\n\turl = ./nowhere\n");
  fs::create_directory(repository() / "evil-repository");
  run_git(repository(),
          {"update-index", "--add", "--cacheinfo",
           "160000," + run_git(repository(), {"rev-parse", "HEAD"}) + ",evil-repository"});
  commit_everything(repository(), "a submodule");
  const std::string run_id =
      start(std::string(hostile_repository) + "git add evil-repository; echo new > new.txt");
  end_of(run_id, "failed");
  EXPECT_NE(failure_of(run_id).find("NESTED_REPOSITORY"), std::string::npos) << failure_of(run_id);
  expect_no_harm();
  EXPECT_EQ(refs_of(remote()).find("signalbox/"), std::string::npos) << refs_of(remote());
}

TEST_F(HostileWorkspace, ATamperedBaseCommitIsNoOptionOfGit) {  // G12
  const std::string run_id = start(
      "git config user.name a; git config user.email a@a; echo new > new.txt\n"
      "git add new.txt; git commit --quiet -m new\n"
      "echo \"--output=$D/injected\" > \"$SIGNALBOX_RUN_ROOT/base_commit\"\n");
  end_of(run_id, "succeeded");
  for (const auto& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_NE(entry.path().filename().string().rfind("injected", 0), 0U) << entry.path();
  }
  expect_pushed(run_id, "new.txt", "new\n");
}

// The owner's own filters and hooks are a policy, which the service must not skip.
TEST_F(HostileWorkspace, WhatTheOwnerSetUpBeforeIsHonoured) {  // G12
  write_text(repository() / ".gitattributes", "*.secret filter=shout\n");
  commit_everything(repository(), "attributes");
  run_git(repository(), {"config", "filter.shout.clean", "tr a-z A-Z"});
  fs::create_directories(repository() / ".git/hooks");
  write_program(repository() / ".git/hooks/pre-push",
                "#!/bin/sh\necho pushed >> '" + (scratch_.path() / "owners").string() + "'\n");
  const std::string run_id = start(
      "echo quiet > new.secret; common=$(git rev-parse --git-common-dir)\n"
      "rm \"$common/hooks/pre-push\"; git config --unset filter.shout.clean\n");
  end_of(run_id, "succeeded");
  expect_pushed(run_id, "new.secret", "QUIET\n");
  EXPECT_EQ(content_of(scratch_.path() / "owners"), "pushed\n");
}

}  // namespace
}  // namespace signalbox
