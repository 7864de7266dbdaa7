// Tests git as a child process: it ends in every case and on every thread. Also tests that worktree
// operations in a repository run one at a time.
#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>

#include "server/git/git_command.h"
#include "server/git/git_listing.h"
#include "server/git/repository_lock.h"
#include "server/platform/call_bounds.h"
#include "tests/server/builtin_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class GitCalls : public BuiltinStations {
 protected:
  // Defines `git stuck`, a command that with its children would run for ever.
  void set_alias(const std::string& script) {
    git(repository, {"config", "alias.stuck", "!" + script});
  }
};

TEST_F(GitCalls, AHungGitIsEndedWithAllItStarted) {
  set_alias("echo $$ > pid.new && mv pid.new pid; sleep 300 & wait");
  end_far_enough(300, [&](std::int64_t timeout_ms) {
    GitOptions options;
    options.timeout_ms = timeout_ms;
    const GitOutcome outcome = git(repository, {"stuck"}, options);
    EXPECT_TRUE(outcome.timed_out);
    EXPECT_FALSE(outcome.ok);
    EXPECT_NE(outcome.message.find(std::to_string(timeout_ms) + " ms"), std::string::npos)
        << outcome.message;
    return fs::exists(repository / "pid");
  });
  ASSERT_TRUE(fs::exists(repository / "pid"));
  const pid_t pid = std::stoi(content_of(repository / "pid"));
  EXPECT_TRUE(eventually([pid] { return ::kill(pid, 0) != 0; }));
}

TEST_F(GitCalls, OneThatWaitsForAFifoEndsWithTheBoundsOfItsThread) {  // G6
  fs::remove(repository / ".git" / "config");
  ASSERT_EQ(::mkfifo((repository / ".git" / "config").c_str(), 0600), 0);
  {
    const CallBounds bounds(CallBounds::now_ms() + 100);
    const GitOutcome outcome = git(repository, {"rev-parse", "--is-bare-repository"});
    EXPECT_TRUE(outcome.timed_out);
    const GitOutcome next = git(repository, {"rev-parse", "--is-bare-repository"});
    EXPECT_TRUE(next.timed_out) << "the time is for all calls together";
    EXPECT_EQ(next.exit_code, -1);
  }
  std::atomic<bool> canceled = false;
  GitOutcome outcome;
  std::thread work([&] {
    const CallBounds bounds(CallBounds::never_ms, &canceled);
    outcome = git(repository, {"rev-parse", "--is-bare-repository"});
  });
  canceled = true;
  work.join();
  EXPECT_TRUE(outcome.timed_out);
}

TEST_F(GitCalls, AFifoInPlaceOfTheLockIsNotWaitedFor) {  // G6
  ASSERT_EQ(::mkfifo((repository / ".git" / "signalbox-worktree.lock").c_str(), 0600), 0);
  (void)RepositoryLock::take(repository, 100);  // whatever it says, it returns
}

TEST_F(GitCalls, OneThatIgnoresTermIsKilled) {
  set_alias("trap '' TERM; while true; do sleep 0.1; done");
  GitOptions options;
  options.timeout_ms = 200;
  EXPECT_TRUE(git(repository, {"stuck"}, options).timed_out);
}

TEST_F(GitCalls, WhatGoesOnWithItsOutputIsNotWaitedFor) {
  set_alias("echo out; sleep 300 & echo $! > pid");
  const GitOutcome outcome = git(repository, {"stuck"});
  EXPECT_TRUE(outcome.ok) << outcome.message;
  EXPECT_EQ(outcome.line(), "out");
  ::kill(std::stoi(content_of(repository / "pid")), SIGKILL);
}

TEST_F(GitCalls, LargeOutputIsReadWhileItRuns) {
  set_alias("yes 0123456789 | head -c 3000000; yes e | head -c 3000000 >&2");
  const GitOutcome outcome = git(repository, {"stuck"});
  EXPECT_TRUE(outcome.ok);
  EXPECT_EQ(outcome.output.size(), git_output_bytes_max);
}

TEST_F(GitCalls, AMessageIsCutAtItsLimit) {
  const auto message_of = [this](std::size_t bytes) {
    set_alias("head -c " + std::to_string(bytes) + " /dev/zero | tr '\\0' x >&2; exit 1");
    return git(repository, {"stuck"}).message;
  };
  EXPECT_EQ(message_of(git_message_bytes_max), std::string(git_message_bytes_max, 'x'));
  const std::string cut = message_of(git_message_bytes_max + 1);
  EXPECT_EQ(cut.size(), git_message_bytes_max);
  EXPECT_NE(cut.find("901 bytes in all"), std::string::npos) << cut;
}

TEST_F(GitCalls, TheCallersOwnGitDirectoryIsNotPassedOn) {
  set_alias("echo \"[$GIT_INDEX_FILE]\"");
  ::setenv("GIT_INDEX_FILE", "/nowhere", 1);
  EXPECT_EQ(git(repository, {"stuck"}).line(), "[]");
  GitOptions options;
  options.environment = {"GIT_INDEX_FILE=/elsewhere"};
  EXPECT_EQ(git(repository, {"stuck"}, options).line(), "[/elsewhere]");
  ::unsetenv("GIT_INDEX_FILE");
}

// The service may have been started by a git command, such as an alias or a hook.
TEST_F(GitCalls, NothingThatReachesIntoAnotherRepositoryIsPassedOn) {  // A1
  set_alias("env");
  std::vector<std::string> names{"GIT_NAMESPACE",         "GIT_CEILING_DIRECTORIES",
                                 "GIT_QUARANTINE_PATH",   "GIT_CONFIG_KEY_0",
                                 "GIT_CONFIG_VALUE_0",    "GIT_DIFF_OPTS",
                                 "GIT_LITERAL_PATHSPECS", "GIT_ICASE_PATHSPECS",
                                 "GIT_REFLOG_ACTION",     "GIT_ATTR_SOURCE"};
  const std::string local = git(repository, {"rev-parse", "--local-env-vars"}).output;
  for (std::istringstream lines(local); lines;) {
    std::string name;
    if (lines >> name) names.push_back(name);
  }
  ASSERT_GT(names.size(), 20U);
  for (const std::string& name : names) ::setenv(name.c_str(), "stray-value", 1);
  const std::string passed = git(repository, {"stuck"}).output;
  const bool is_found = git(repository, {"rev-parse", "--verify", "HEAD"}).ok;
  for (const std::string& name : names) ::unsetenv(name.c_str());
  EXPECT_FALSE(passed.empty());
  EXPECT_EQ(passed.find("stray-value"), std::string::npos) << passed;
  EXPECT_TRUE(is_found);
}

// A partial clone without one of its objects would fetch it, with the program that it names.
TEST_F(GitCalls, ReadingRunsNoProgramOfAPartialClone) {  // G12
  write_text(repository / "lost.txt", "lost");
  commit_all(repository, "lost");
  const std::string id = git(repository, {"rev-parse", "HEAD:lost.txt"}).line();
  ASSERT_TRUE(fs::remove(repository / ".git/objects" / id.substr(0, 2) / id.substr(2)));
  const fs::path marker = repository / "marker";
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"core.repositoryFormatVersion", "1"},
           {"extensions.partialClone", "origin"},
           {"remote.origin.url", repository.string()},
           {"remote.origin.promisor", "true"},
           {"remote.origin.uploadpack", "touch '" + marker.string() + "'; git-upload-pack"}}) {
    ASSERT_TRUE(git(repository, {"config", key, value}).ok) << key;
  }
  EXPECT_FALSE(git(repository, {"cat-file", "-p", "HEAD:lost.txt"}).ok);
  EXPECT_FALSE(fs::exists(marker));
}

TEST_F(GitCalls, ThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([&, number] {
      GitOptions options;
      options.environment = {"GIT_AUTHOR_NAME=n" + std::to_string(number),
                             "GIT_AUTHOR_EMAIL=t@localhost"};
      for (int round = 0; round < 10; ++round) {
        const std::string author = git(repository, {"var", "GIT_AUTHOR_IDENT"}, options).line();
        if (author.starts_with("n" + std::to_string(number) + " <")) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
}

TEST_F(GitCalls, TheRepositorysLockIsOneForAllItsWorktreesAndEndsWithItsHolder) {
  run("worktree add --quiet --detach " + (site.root() / "second").string(), repository);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lock = RepositoryLock::take(repository);
    (void)!::write(ready[1], lock ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char taken = 0;
  EXPECT_EQ(::read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  const auto refused = RepositoryLock::take(site.root() / "second", 50);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().find("50 ms"), std::string::npos) << refused.error();
  EXPECT_TRUE(RepositoryLock::take(site.root() / "second", 30'000).has_value());
  EXPECT_FALSE(RepositoryLock::take(site.root() / "nowhere").has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

// A change of a run is shown while its worktree is looked at before it is removed: half of a list
// would say that there is nothing to lose.
TEST_F(GitCalls, AListIsNobodyElsesInADirectoryThatIsShared) {  // H6
  const fs::path scratch = site.root() / "scratch";
  fs::create_directory(scratch);
  const fs::path fifo = site.root() / "until";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  set_alias("echo first; echo > begun; cat " + fifo.string());
  tl::expected<std::string, std::string> slow;
  std::thread work([&] { slow = git_listing(repository, {"stuck"}, {}, scratch); });
  const bool is_under_way = eventually([&] { return fs::exists(repository / "begun"); });
  const auto quick = git_listing(repository, {"rev-parse", "--is-bare-repository"}, {}, scratch);
  if (is_under_way) std::ofstream(fifo) << "last\n";
  work.join();
  ASSERT_TRUE(is_under_way);
  EXPECT_EQ(quick.value_or("none"), "false\n");
  EXPECT_EQ(slow.value_or("none"), "first\nlast\n");
  EXPECT_TRUE(fs::is_empty(scratch)) << "nothing stays behind a kill either";
  EXPECT_FALSE(git_listing(repository, {"rev-parse", "--git-dir"}, {}, scratch, 2));
}

// A killed server's `git worktree remove` once removed what the next holder made under its name.
TEST_F(GitCalls, TheRepositorysLockIsHeldByAGitThatOutlivesItsHolder) {
  const fs::path fifo = site.root() / "until";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  set_alias("echo $$ > pid.new; mv pid.new pid; cat " + fifo.string());
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lock = RepositoryLock::take(repository);
    if (lock) git(repository, {"stuck"});
    ::_exit(0);
  }
  const bool is_under_way = eventually([&] { return fs::exists(repository / "pid"); });
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  ASSERT_TRUE(is_under_way);
  EXPECT_FALSE(RepositoryLock::take(repository, 50).has_value());
  std::ofstream(fifo) << "go on\n";
  EXPECT_TRUE(RepositoryLock::take(repository, 30'000).has_value());
  EXPECT_TRUE(git(repository, {"rev-parse"}).ok);
  EXPECT_EQ(RepositoryLock::held_descriptor(), -1) << "a lock that was given back is no one's";
}

TEST_F(GitCalls, IntakeWaitsForItsTurn) {
  const Job job = builtin("intake");
  auto executor = site.executor();
  {
    const auto lock = RepositoryLock::take(repository);
    ASSERT_TRUE(lock.has_value());
    ASSERT_TRUE(executor->submit(job));
    // The job has saved its base commit, which it does right before.
    ASSERT_TRUE(eventually([&] { return fs::exists(fs::path(job.run_root) / "base_commit"); }));
    // An absence can only be observed for a while.
    for (int round = 0; round < 100; ++round) {
      ASSERT_FALSE(fs::exists(workspace_of(job) / "file.txt"));
      ::usleep(5'000);
    }
    EXPECT_EQ(executor->poll(job).value(), JobState::running);
  }
  ASSERT_TRUE(is_finished(*executor, job));
  EXPECT_EQ(content_of(workspace_of(job) / "file.txt"), "one\n");
}

}  // namespace
}  // namespace signalbox
