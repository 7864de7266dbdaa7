// Tests that what waits for a program gives it the time for which the service, and the program with
// it, was stopped.
#include "server/executors/process/supervision.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "server/platform/child_process.h"
#include "tests/eventually.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

constexpr std::int64_t program_ms_max = 3000;
constexpr std::int64_t stop_ms = program_ms_max + 500;

// The program of `work` ends once its process was stopped for longer than the program may take.
class AStopOfTheSupervisor : public testing::Test {
 protected:
  const std::vector<std::string> program{"sh", "-c",
                                         "touch begun; until test -e go; do sleep 0.05; done"};

  // Calls `work` in a process of its own, which is stopped meanwhile; returns its result.
  [[nodiscard]] bool outlasted_by(const std::function<bool()>& work) const {
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
      become_reaper();
      ::_exit(work() ? 0 : 1);
    }
    EXPECT_TRUE(eventually([this] { return std::filesystem::exists(at("begun")); }));
    ::kill(supervisor, SIGSTOP);
    const std::int64_t until_ms = ChildProcess::now_ms() + stop_ms;
    EXPECT_TRUE(eventually([until_ms] { return ChildProcess::now_ms() >= until_ms; }));
    ::kill(supervisor, SIGCONT);
    write_text(at("go"), "");
    int status = 0;
    EXPECT_EQ(::waitpid(supervisor, &status, 0), supervisor);
    return status == 0;
  }
  [[nodiscard]] std::filesystem::path at(const std::string& name) const {
    return directory.path() / name;
  }

  TemporaryDirectory directory;
};

TEST_F(AStopOfTheSupervisor, DoesNotEndItsJob) {  // W1
  JobSpec spec;
  spec.argv = program;
  spec.cwd = directory.path().string();
  spec.timeout_ms = program_ms_max;
  EXPECT_TRUE(outlasted_by([&] {
    const ShimResult result =
        run_supervised(spec, BoundedLog::create(at("out")).value(),
                       BoundedLog::create(at("err")).value(), JobDirectory{directory.path()});
    return !result.timed_out && result.exit_code == 0;
  }));
}

TEST_F(AStopOfTheSupervisor, DoesNotEndAnotherProgram) {  // W1
  EXPECT_TRUE(outlasted_by([this] {
    auto child = ChildProcess::start({.argv = program, .cwd = directory.path().string()}).value();
    return child.await_end(ChildProcess::now_ms() + program_ms_max);
  }));
}

}  // namespace
}  // namespace signalbox
