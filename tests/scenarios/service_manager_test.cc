// The real server under a service manager: it is ready only when it answers, its watchdog covers
// the engine and the commit thread, and jobs inherit nothing of it.
#include <signal.h>

#include <algorithm>

#include "tests/crash/connection.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/fixtures/notify_socket.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/held_calls.h"

namespace signalbox {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::NotifySocket;

class ServiceManagerTest : public CliTest {
 protected:
  void SetUp() override {}
  void TearDown() override {
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
  }
  void watch(std::chrono::microseconds interval) {
    ::setenv("WATCHDOG_USEC", std::to_string(interval.count()).c_str(), 1);
    ::unsetenv("WATCHDOG_PID");
  }

  TemporaryDirectory place_;
  NotifySocket manager_{place_.path() / "notify"};
};

TEST_F(ServiceManagerTest, ItIsReadyWhenItAnswersAndSaysThatItStops) {
  server_.start();
  manager_.until("READY=1");
  auto connection = Connection::open(server_.socket());
  ASSERT_TRUE(connection);
  for (int batch = 0; batch < 20; ++batch) {
    std::string lines;
    for (int each = 0; each < 500; ++each) {
      lines += test::request_line(each + 1, "run.start", {{"goal", std::string(1000, 'g')}});
    }
    ASSERT_TRUE(connection->send(lines));
    for (int each = 0; each < 500; ++each) ASSERT_TRUE(connection->line());
  }
  server_.kill();
  std::filesystem::remove_all(server_.data() / "projections");  // so that everything is replayed
  while (manager_.next(milliseconds(0))) {
  }
  server_.launch();
  const auto first = manager_.next();
  ASSERT_TRUE(first);
  EXPECT_NE(first->find("STATUS="), std::string::npos) << *first;
  std::string words = *first;
  // At first the server doesn't answer. A slow test may find that it is ready already.
  const bool answers = Connection::open(server_.socket()).has_value();
  while (const auto more = manager_.next(milliseconds(0))) words += *more;
  if (answers) {
    EXPECT_NE(words.find("STATUS=bringing up the read models"), std::string::npos) << words;
  }
  if (words.find("READY=1") == std::string::npos) words += manager_.until("READY=1");
  EXPECT_NE(words.find("STATUS=bringing up the read models"), std::string::npos) << words;
  auto ready = Connection::open(server_.socket());
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->call("server.status", {}));
  EXPECT_EQ(words.find("WATCHDOG=1"), std::string::npos) << "nobody asked for it";
  ::kill(server_.pid(), SIGTERM);
  manager_.until("STOPPING=1");
}

TEST_F(ServiceManagerTest, ItSaysThatItLivesMoreThanTwiceAnInterval) {
  constexpr std::chrono::seconds interval{test::slowness > 1 ? 15 : 3};
  watch(interval);
  server_.start();
  manager_.until("READY=1");
  manager_.until("WATCHDOG=1");
  std::vector<std::chrono::steady_clock::duration> gaps;
  auto last = std::chrono::steady_clock::now();
  for (int ping = 0; ping < 6; ++ping) {
    manager_.until("WATCHDOG=1");
    const auto now = std::chrono::steady_clock::now();
    gaps.push_back(now - last);
    last = now;
  }
  // A busy machine may keep one message, or its receipt, for longer.
  std::ranges::sort(gaps);
  EXPECT_LT(gaps[gaps.size() / 2], interval / 2.0);
  const auto status = manager_.next();
  ASSERT_TRUE(status);
  EXPECT_NE(status->find("STATUS=serving; position "), std::string::npos) << *status;
}

// The commit thread hangs in fdatasync: no watchdog message is sent.
TEST_F(ServiceManagerTest, ADiskThatHangsSaysNothing) {
  watch(milliseconds(600));
  server_.start();
  manager_.until("WATCHDOG=1");
  const pid_t tracer =
      hold_calls(server_.pid(), "fdatasync,fsync", "delay_enter=60000000", place_.path());
  auto connection = Connection::open(server_.socket());
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->send(test::request_line(1, "run.start", {{"goal", "never durable"}})));
  // After twice the interval a service manager would have ended it.
  EXPECT_TRUE(manager_.falls_silent_for(milliseconds(1200)));
  EXPECT_TRUE(server_.running());
  ::kill(tracer, SIGKILL);
  wait_for_exit(tracer);
  manager_.until("WATCHDOG=1");  // the disk works again
  EXPECT_TRUE(connection->line());
}

TEST_F(ServiceManagerTest, AnEngineThatHangsSaysNothing) {
  watch(milliseconds(600));
  server_.start();
  manager_.until("WATCHDOG=1");
  ::kill(server_.pid(), SIGSTOP);
  EXPECT_TRUE(manager_.falls_silent_for(milliseconds(1200)));
  ::kill(server_.pid(), SIGCONT);
  manager_.until("WATCHDOG=1");
}

TEST_F(ServiceManagerTest, AJobHasNothingOfIt) {
  watch(std::chrono::seconds(30));
  server_.start();
  const auto pipeline_file = scratch_.path() / "job.toml";
  std::ofstream(pipeline_file) << R"(
name = "job"
[[station]]
name = "look"
executor = "process"
command = ["sh", "-c", "env >$SIGNALBOX_ARTIFACTS_DIR/own; tr '\\0' '\\n' </proc/$PPID/environ >$SIGNALBOX_ARTIFACTS_DIR/shim; true"]
)";
  const std::string run =
      text(result({"run", "start", "look", "--pipeline", pipeline_file.string()}), "run_id");
  await_status(run, "succeeded");
  for (const char* artifact : {"own", "shim"}) {
    const Output environment = server_.cli({"run", "artifact", run, artifact});
    EXPECT_EQ(environment.exit_code, 0) << environment.err;
    EXPECT_NE(environment.out.find("PATH="), std::string::npos) << artifact;
    EXPECT_EQ(environment.out.find("NOTIFY_SOCKET"), std::string::npos) << artifact;
    EXPECT_EQ(environment.out.find("WATCHDOG_"), std::string::npos) << artifact;
  }
}

// The service manager can't be reached: the server serves, and logs the reason once.
TEST_F(ServiceManagerTest, OneThatCantBeReachedIsOneWarning) {
  const std::string nowhere = place_.path() / "nobody-listens";
  ::setenv("NOTIFY_SOCKET", nowhere.c_str(), 1);
  watch(milliseconds(60));
  server_.start();
  await([&] { return server_.cli({"status"}).exit_code == 0; });
  EXPECT_EQ(server_.stop(), 0);
  const std::string messages = server_.messages();
  const std::string warning = "NOTIFY_SOCKET " + nowhere + " can't be reached: No such file";
  const std::size_t at = messages.find(warning);
  ASSERT_NE(at, std::string::npos) << messages;
  EXPECT_EQ(messages.find("NOTIFY_SOCKET", at + 1), std::string::npos) << messages;
}

TEST_F(ServiceManagerTest, OneThatCanBeReachedIsNoWarning) {
  server_.start();
  manager_.until("READY=1");
  EXPECT_EQ(server_.messages().find("NOTIFY_SOCKET"), std::string::npos);
}

// systemd-analyze accepts the unit.
TEST_F(ServiceManagerTest, TheUnitIsOne) {
  const auto unit = place_.path() / "signalbox.service";
  std::string text = content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                                "server/platform/signalbox.service.in");
  const auto replace = [&text](const std::string& name, const std::string& value) {
    const std::size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, name.size(), value);
  };
  replace("@SIGNALBOX_DOCUMENTS@", "/usr/share/doc/signalbox");
  replace("@SIGNALBOX_BIN_DIRECTORY@/signalbox", SIGNALBOX_BINARY);
  EXPECT_EQ(text.find('@'), std::string::npos);
  std::ofstream(unit) << text;
  if (run_process({"sh", "-c", "command -v systemd-analyze"}).exit_code != 0) {
    SIGNALBOX_CANNOT_RUN("systemd isn't installed: tools/packages systemd");
  }
  const Output verified = run_process({"systemd-analyze", "verify", unit.string()});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(verified.err + verified.out, "");
}

}  // namespace
}  // namespace signalbox
