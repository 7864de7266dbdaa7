// Runners whose network is cut: packets are lost without a word, and nobody closes a connection.
// The test's own commands go over the Unix socket.
#include "tests/fixtures/needed_ability.h"
#include "tests/fixtures/own_namespaces.h"
#include "tests/scenarios/runner_tls_fixture.h"

namespace signalbox {
namespace {

class CutRunner : public RunnerOverTls {
 protected:
  void SetUp() override {
    if (const std::string why = test::enter_own_network(); !why.empty()) {
      SIGNALBOX_CANNOT_RUN(why + ": run it as root, or where user namespaces are permitted");
    }
    serve_over_tls();
  }
  void TearDown() override {
    EXPECT_EQ(test::set_loopback(true), "");
    RunnerOverTls::TearDown();
  }
  RunnerProcess& start_one(const std::string& lease) {
    runners_.push_back(std::make_unique<RunnerProcess>(
        scratch_.path() / "one", where_,
        std::vector<std::string>{"--name", "one", "--labels", "gpu", "--lease", lease}));
    runners_.back()->start();
    return *runners_.back();
  }
  static void cut() { ASSERT_EQ(test::set_loopback(false), ""); }
  static void mend() { ASSERT_EQ(test::set_loopback(true), ""); }
};

TEST_F(CutRunner, AJobEndsMeanwhileAndIsReportedLater) {  // N2, N5
  RunnerProcess& runner = start_one("10m");
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  cut();
  let_go();
  ASSERT_TRUE(eventually([&] {
    return std::filesystem::exists(runner.work() / "jobs" / (id + "-a-1") / "result.json");
  }));
  const std::string later = start_run("true");
  EXPECT_EQ(status(id), "running");
  mend();
  expect_success(id);
  expect_success(later);
  expect_each_once();
  EXPECT_EQ(executions(), 1U) << "its attempt went on";
}

TEST_F(CutRunner, AfterItsLeaseAnotherAttemptBeginsAndTheLateResultChangesNothing) {  // N5
  RunnerProcess& runner = start_one("5s");
  const std::string id = start_run(counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  cut();
  ASSERT_TRUE(eventually([&] { return !id_of("one", "lost").empty(); }));
  ASSERT_TRUE(eventually([&] { return why(id).find("no_runner") != std::string::npos; }))
      << why(id);
  let_go();
  mend();
  expect_success(id);
  expect_each_once();
  EXPECT_EQ(executions(), 2U);
}

}  // namespace
}  // namespace signalbox
