// Tests what becomes of an agent whose program isn't installed, or is being installed just now.
#include <cerrno>
#include <cstdlib>

#include "server/executors/coderunner/agent_process.h"
#include "server/executors/coderunner/agent_verdict.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

DeclaredResult end_without_program(const AgentTask& task, const AgentEnd& end) {
  return agent_verdict(task, AgentReport{}, {}, end, false, 0);
}

TEST(MissingAgent, IsNamedWithHowToGetIt) {
  AgentEnd not_there;
  not_there.start_error = ENOENT;
  AgentTask task;
  DeclaredResult result = end_without_program(task, not_there);
  EXPECT_EQ(result.error_code, "CONFIG_MISSING");
  EXPECT_NE(result.error_message->find("claude"), std::string::npos) << *result.error_message;
  EXPECT_NE(result.error_message->find("npm install"), std::string::npos);
  // npm has the package, but not that of the machine's kind.
  AgentEnd no_binary;
  no_binary.exit_code = 1;
  no_binary.stderr_end = "Error: claude native binary not installed.\n";
  result = end_without_program(task, no_binary);
  EXPECT_EQ(result.error_code, "CONFIG_MISSING");
  EXPECT_EQ(result.error_class, ErrorClass::config);
  EXPECT_NE(result.error_message->find("npm install"), std::string::npos);
  task.command = {"my-claude"};
  EXPECT_EQ(end_without_program(task, not_there).error_message->find("npm"), std::string::npos);
}

TEST(MissingAgent, OfAStationsOwnCommandIsNamed) {
  ExecutorSite site;
  Job job = site.job("implement");
  job.definition.executor = ExecutorKind::coderunner;
  job.definition.coderunner = {Agent::claude, CoderunnerMode::process, "", ""};
  job.definition.command = {(site.root() / "no-such-agent").string()};
  const JobResult result = run_to_end(*site.executor(), job);
  EXPECT_EQ(result.failure.code, "CONFIG_MISSING");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
  EXPECT_NE(result.failure.message.find("no-such-agent"), std::string::npos);
}

// npm takes the old version away before the new one is there.
TEST(MissingAgent, IsLookedForAgain) {  // S7
  const TemporaryDirectory directory;
  const fs::path program = directory.path() / "agent";
  const auto looks_until_end = [&program](int looks, bool installs) {
    become_agent_supervisor();
    AgentCall call;
    call.argv = {program.string()};
    call.grace_ms = 300'000;
    call.look_again = [&]() {
      if (looks-- == 0) return false;
      if (looks == 0 && installs) {
        write_text(program, "#!/bin/sh\nexit 7\n");
        fs::permissions(program, fs::perms::owner_all);
      }
      return true;
    };
    const auto transcript = claude_transcript();
    const AgentEnd end = call_agent(call, *transcript);
    return installs ? end.exit_code == 7 : end.start_error == ENOENT && looks == -1;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(looks_until_end(3, true) ? 0 : 1), testing::ExitedWithCode(0), "");
  fs::remove(program);
  EXPECT_EXIT(std::_Exit(looks_until_end(3, false) ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace signalbox
