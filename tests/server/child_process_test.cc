// Tests ChildProcess: output, deadlines, exit status, and the processes that a child leaves behind.
#include "server/platform/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <regex>

#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

using Reach = ChildProcess::Reach;

constexpr std::int64_t long_ms = 60'000;

ChildProcess::Settings shell(const std::string& script, const ChildProcess::Sink& stdout_sink = {},
                             Reach reach = Reach::group) {
  return {.argv = {"sh", "-c", script}, .stdout_sink = stdout_sink, .reach = reach};
}

std::string output_of(ChildProcess::Settings settings) {
  std::string text;
  settings.stdout_sink = [&text](std::string_view bytes) { text += bytes; };
  auto child = ChildProcess::start(std::move(settings));
  if (!child || !child->await_end(ChildProcess::now_ms() + long_ms)) ADD_FAILURE() << text;
  return text;
}

// Waits until `child` prints something, which means that it is ready to be tested, or ends.
void await_output(ChildProcess& child, const BoundedOutput& output) {
  while (output.stream_bytes() == 0 && !child.has_ended()) {
    child.wait(ChildProcess::now_ms() + long_ms);
  }
}

// Runs `test` in a forked process that is a child subreaper. Failures are printed by that process.
void run_as_reaper(const std::function<void()>& test) {
  const pid_t reaper = ::fork();
  if (reaper == 0) {
    become_reaper();
    test();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(reaper, &status, 0), reaper);
  EXPECT_EQ(status, 0);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(ChildProcessTest, GivesTheExitCodeOrTheSignal) {
  auto exited = ChildProcess::start(shell("exit 7")).value();
  EXPECT_TRUE(exited.await_end());
  EXPECT_EQ(exited.exit_code(), 7);
  EXPECT_EQ(exited.signal(), std::nullopt);
  auto killed = ChildProcess::start(shell("kill -9 $$")).value();
  EXPECT_TRUE(killed.await_end());
  EXPECT_EQ(killed.exit_code(), std::nullopt);
  EXPECT_EQ(killed.signal(), SIGKILL);
  EXPECT_TRUE(killed.has_ended());
}

TEST(ChildProcessTest, AProgramOrDirectoryThatIsNotThereDoesNotStart) {
  const std::size_t before = open_descriptors();
  const auto nothing = [](std::string_view) {};
  const auto missing = ChildProcess::start({.argv = {"no-such-program-here"},
                                            .input = "text",
                                            .stdout_sink = nothing,
                                            .stderr_sink = nothing});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), ENOENT);
  EXPECT_FALSE(is_transient_start_error(missing.error()));
  EXPECT_EQ(ChildProcess::start({.argv = {"/etc"}}).error(), EACCES);
  EXPECT_EQ(ChildProcess::start({.argv = {"true"}, .cwd = "/no/such/directory"}).error(), ENOENT);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ChildProcessTest, AWordWithANulDoesNotStart) {  // G1
  using std::string_literals::operator""s;
  const auto child = ChildProcess::start({.argv = {"echo", "seen\0unseen"s}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error(), EINVAL);
}

TEST(ChildProcessTest, OutputOverTheBoundKeepsItsEndsAndDoesNotBlockTheProgram) {
  BoundedOutput ends(4, 3);
  BoundedOutput beginning(4, 0);
  auto settings =
      shell("printf abcdef; yes 0123456789 | head -c 3000000; printf xyz >&2; exit 3", ends.sink());
  settings.stderr_sink = beginning.sink();
  auto child = ChildProcess::start(std::move(settings)).value();
  EXPECT_TRUE(child.await_end(ChildProcess::now_ms() + long_ms));
  EXPECT_EQ(child.exit_code(), 3);
  EXPECT_EQ(ends.stream_bytes(), 3'000'006U);
  EXPECT_EQ(ends.head(), "abcd");
  EXPECT_EQ(ends.tail(), "012");
  EXPECT_EQ(beginning.head() + std::string(beginning.tail()), "xyz");
}

TEST(ChildProcessTest, BothStreamsInOnePipeKeepTheirOrder) {
  auto settings = shell("echo 1; echo 2 >&2; echo 3");
  settings.stderr_as_stdout = true;
  EXPECT_EQ(output_of(std::move(settings)), "1\n2\n3\n");
}

TEST(ChildProcessTest, InheritsNothingButWhatIsNamed) {
  const FileDescriptor inheritable(::dup2(STDIN_FILENO, 97));  // without CLOEXEC
  ASSERT_TRUE(inheritable);
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &usr1, &before);
  const auto handler = std::signal(SIGUSR2, SIG_IGN);
  const std::string inherited =
      output_of(shell("test -e /proc/$$/fd/97 || echo closed; "
                      "exec grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  static const std::regex masks("closed\nSigBlk:\t([0-9a-f]+)\nSigIgn:\t([0-9a-f]+)\n");
  std::smatch mask;
  ASSERT_TRUE(std::regex_match(inherited, mask, masks)) << inherited;
  EXPECT_EQ(std::stoull(mask[1], nullptr, 16), 0U);
  // Signals 32 and 33 are glibc's own: no program can set them, and some sandboxes ignore them.
  const std::uint64_t of_glibc = 3ULL << 31;
  EXPECT_EQ(std::stoull(mask[2], nullptr, 16) & ~of_glibc, 0U);
  std::signal(SIGUSR2, handler);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  auto settings = shell("cat; pwd; echo $HERE $HOME");
  settings.cwd = "/usr";
  settings.input = "to read\n";
  settings.environment = {{"HERE=this"}};
  EXPECT_EQ(output_of(std::move(settings)), "to read\n/usr\nthis\n");
  EXPECT_EQ(output_of(shell("cat")), "") << "/dev/null";
}

TEST(ChildProcessTest, ItsGroupIsEndedAfterItsDeadline) {
  BoundedOutput output(100, 0);
  auto child = ChildProcess::start(shell("sleep 300 & echo $!; wait", output.sink())).value();
  await_output(child, output);
  EXPECT_FALSE(child.await_end(ChildProcess::now_ms() + 50));
  EXPECT_EQ(child.exit_code(), std::nullopt) << "it goes on";
  EXPECT_TRUE(child.end(long_ms).survivors.empty());
  EXPECT_EQ(child.signal(), SIGTERM);
  const pid_t sleeper = std::stoi(output.head());
  EXPECT_TRUE(eventually([sleeper] {
    const auto process = read_process(sleeper);
    return !process || process->zombie;
  }));
}

TEST(ChildProcessTest, OneThatIgnoresTermIsKilledAfterTheGrace) {
  BoundedOutput output(100, 0);
  const std::string deaf = "trap '' TERM; echo; while true; do sleep 0.05; done";
  auto child = ChildProcess::start(shell(deaf, output.sink())).value();
  await_output(child, output);
  const std::int64_t before_ms = ChildProcess::now_ms();
  EXPECT_TRUE(child.end(200).survivors.empty());
  EXPECT_GE(ChildProcess::now_ms(), before_ms + 200);
  EXPECT_EQ(child.signal(), SIGKILL);
}

TEST(ChildProcessTest, AGrandchildThatHoldsThePipeIsNotWaitedFor) {
  BoundedOutput output(100, 0);
  auto child = ChildProcess::start(shell("echo said; sleep 300 & exit 4", output.sink())).value();
  const std::int64_t before_ms = ChildProcess::now_ms();
  EXPECT_TRUE(child.await_end(before_ms + long_ms));
  EXPECT_LT(ChildProcess::now_ms(), before_ms + long_ms);
  EXPECT_EQ(child.exit_code(), 4);
  EXPECT_EQ(output.head(), "said\n");
  child.end(0);
}

TEST(ChildProcessTest, DescendantsInOtherSessionsAreEndedToo) {
  run_as_reaper([] {
    BoundedOutput output(100, 0);
    const std::string script = "setsid sh -c 'trap \"\" TERM; echo deaf; sleep 300; sleep 300' & ";
    auto child =
        ChildProcess::start(shell(script + "exec sleep 300", output.sink(), Reach::descendants))
            .value();
    await_output(child, output);
    const ChildProcess::Ending ending = child.end(300);
    EXPECT_EQ(child.signal(), SIGTERM);
    EXPECT_GE(ending.others_signaled, 1U);
    EXPECT_TRUE(ending.survivors.empty());
    EXPECT_TRUE(descendants_of(::getpid()).empty());
    EXPECT_LT(::waitpid(-1, nullptr, WNOHANG), 0);
  });
}

TEST(ChildProcessTest, WhatAProgramLeavesBehindIsEndedAfterIt) {
  run_as_reaper([] {
    BoundedOutput output(100, 0);
    auto child =
        ChildProcess::start(shell("setsid sleep 300 & exit 5", output.sink(), Reach::descendants))
            .value();
    EXPECT_TRUE(child.await_end());
    EXPECT_EQ(child.end(long_ms).others_signaled, 1U);
    EXPECT_EQ(child.exit_code(), 5);
    EXPECT_EQ(child.signal(), std::nullopt);
    // The next child has no descendants, so nothing is left to signal.
    auto next = ChildProcess::start(shell("exit 6", {}, Reach::descendants)).value();
    EXPECT_TRUE(next.await_end());
    EXPECT_EQ(next.end(long_ms).others_signaled, 0U);
    EXPECT_EQ(next.exit_code(), 6);
  });
}

}  // namespace
}  // namespace signalbox
