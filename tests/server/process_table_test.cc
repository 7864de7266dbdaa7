// Tests which processes are found as descendants of a process. The search reads only those, not
// every process of the machine.
#include "server/platform/process_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "server/platform/child_process.h"

namespace signalbox {
namespace {

// Starts a shell with a child in a session of its own, which waits for a grandchild.
class ProcessTableTest : public ::testing::Test {
 protected:
  ProcessTableTest() {
    shell_ = ChildProcess::start({.argv = {"sh", "-c", "setsid sh -c 'sleep 600; true' & wait"}})
                 .value()
                 .pid();
  }
  ~ProcessTableTest() override {
    for (const ProcessIdentity& each : descendants_of(shell_)) send_signal(each, SIGKILL);
    ::kill(shell_, SIGKILL);
    ::waitpid(shell_, nullptr, 0);
  }

  // Waits until `root` has `count` descendants, and returns them.
  static std::vector<ProcessIdentity> await_descendants(pid_t root, std::size_t count) {
    for (int round = 0; round < 1000; ++round) {
      if (auto found = descendants_of(root); found.size() == count) return found;
      ::usleep(10'000);
    }
    ADD_FAILURE() << "there are not " << count;
    return {};
  }

  pid_t shell_ = 0;
};

TEST_F(ProcessTableTest, DescendantsAreFoundInAnySession) {
  const auto below = await_descendants(shell_, 2);  // the other shell and sleep
  const auto ours = descendants_of(::getpid());
  EXPECT_EQ(ours.size(), 3U);
  for (const ProcessIdentity& each : below) {
    EXPECT_NE(std::find(ours.begin(), ours.end(), each), ours.end());
    const auto process = read_process(each.pid);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->identity, each);
  }
}

TEST_F(ProcessTableTest, OneThatHasEndedIsNoDescendant) {
  const auto below = await_descendants(shell_, 2);
  ::kill(shell_, SIGSTOP);  // so that it reaps nothing: killed children stay as zombies
  for (const ProcessIdentity& each : below) EXPECT_TRUE(send_signal(each, SIGKILL));
  await_descendants(shell_, 0);
  EXPECT_EQ(descendants_of(::getpid()).size(), 1U);
  EXPECT_TRUE(descendants_of(below.front().pid).empty());
}

}  // namespace
}  // namespace signalbox
