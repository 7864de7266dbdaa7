// The server's own log, as an operator reads it, in each of its formats.
#include <signal.h>

#include "tests/fixtures/needed_ability.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

class ServerLogTest : public CliTest {
 protected:
  void SetUp() override { std::ofstream(pipeline()) << worker_pipeline; }

  // Makes a run whose second station fails. Returns its id.
  std::string failed_run() {
    const std::string run = start_run("fail");
    EXPECT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
    EXPECT_EQ(complete(run, "implement", claim(run), "failed").exit_code, 0);
    await_status(run, "failed");
    return run;
  }
  void configure(const std::string& lines) {
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << lines;
  }
  // Returns the first attempt of the first station.
  [[nodiscard]] boost::json::object run_attempt(const std::string& id) const {
    const auto station = run(id).at("stations").as_array().at(0);
    return station.at("attempts").as_array().at(0).as_object();
  }
  // Returns the first line that contains `part`. Fails the test if there is none.
  static std::string line_with(const std::string& log, const std::string& part) {
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(part) != std::string::npos) return line;
    }
    ADD_FAILURE() << "no line with " << part << " in:\n" << log;
    return {};
  }
};

TEST_F(ServerLogTest, ARunThatFailsIsALineAndOneThatSucceedsIsNot) {
  server_.start();
  const std::string run = failed_run();
  const auto position =
      boost::json::serialize(events(run, "RunFailed").at(0).as_object().at("position"));
  const std::string line = line_with(server_.messages(), "run failed");
  EXPECT_NE(line.find(" warning: run failed: FAILED"), std::string::npos) << line;
  EXPECT_NE(line.find(" run=" + run + " station=implement position=" + position), std::string::npos)
      << line;
  EXPECT_EQ(server_.messages().find("attempt 1"), std::string::npos) << "attempts are for debug";
}

// The first line that an operator ever sees.
TEST_F(ServerLogTest, AStartSaysWhatItReplayed) {
  server_.start();
  EXPECT_TRUE(server_.logs("the log ends at 0; replayed 0 events from its beginning\n"))
      << server_.messages();
}

TEST_F(ServerLogTest, JsonLinesHaveThemAsKeysAndDebugHasEveryAttempt) {
  configure("log_format = \"json\"\nlog_level = \"debug\"\n");
  server_.start();
  const std::string run = failed_run();
  const auto span = text(run_attempt(run), "span_id");
  const auto started =
      boost::json::parse(line_with(server_.messages(), "attempt 1 started, by w")).as_object();
  EXPECT_EQ(text(started, "run"), run);
  EXPECT_EQ(text(started, "station"), "plan");
  EXPECT_EQ(text(started, "span"), span);
  EXPECT_TRUE(started.contains("position"));
}

// Checks the fields of a journal entry.
TEST_F(ServerLogTest, TheJournalHasTheFields) {
  if (run_process({"unshare", "--map-root-user", "--mount", "true"}).exit_code != 0) {
    SIGNALBOX_CANNOT_RUN("no mount namespace of our own can be made here");
  }
  configure("log_format = \"journal\"\n");
  const auto entries_file = scratch_.path() / "entries";
  const pid_t listener =
      spawn_process({"unshare", "--map-root-user", "--mount", SIGNALBOX_PYTHON,
                     std::string(SIGNALBOX_SOURCE_DIR) + "/tests/scenarios/journal_listener.py",
                     SIGNALBOX_BINARY, "serve", "--data", server_.data().string()},
                    entries_file, scratch_.path() / "errors");
  await([&] { return server_.cli({"status"}).exit_code == 0; });
  const std::string run = failed_run();
  await([&] { return content_of(entries_file).find("run failed") != std::string::npos; });
  const auto entry =
      boost::json::parse(line_with(content_of(entries_file), "run failed")).as_object();
  EXPECT_EQ(text(entry, "PRIORITY"), "4");
  EXPECT_EQ(text(entry, "SYSLOG_IDENTIFIER"), "signalbox");
  EXPECT_EQ(text(entry, "SIGNALBOX_RUN"), run);
  EXPECT_EQ(text(entry, "SIGNALBOX_STATION"), "implement");
  EXPECT_EQ(text(entry, "SIGNALBOX_POSITION"),
            boost::json::serialize(events(run, "RunFailed").at(0).as_object().at("position")));
  EXPECT_EQ(text(entry, "MESSAGE").find("run failed: FAILED"), 0U);
  // The server is the listener's child. The listener exits after it.
  const Output server = run_process({"pgrep", "-P", std::to_string(listener)});
  ::kill(std::stoi(server.out), SIGTERM);
  wait_for_exit(listener);
}

// The journal is asked for where there is none: nothing is lost.
TEST_F(ServerLogTest, WithoutAJournalItIsStderrWithPriorities) {
  configure("log_format = \"journal\"\n");
  if (!std::filesystem::exists("/run/systemd/journal/socket")) {
    server_.start();
    EXPECT_TRUE(server_.logs("<6>listening on "));
    return;
  }
  // The journal of this machine is hidden by a mount that only the server sees.
  if (run_process({"unshare", "--map-root-user", "--mount", "true"}).exit_code != 0) {
    SIGNALBOX_CANNOT_RUN("no mount namespace of our own can be made here");
  }
  const auto messages_file = scratch_.path() / "messages";
  const pid_t server =
      spawn_process({"unshare", "--map-root-user", "--mount", "sh", "-c",
                     "mount -t tmpfs none /run/systemd/journal && exec \"$0\" serve --data \"$1\"",
                     SIGNALBOX_BINARY, server_.data().string()},
                    scratch_.path() / "output", messages_file);
  await([&] { return content_of(messages_file).find("<6>listening on ") != std::string::npos; });
  ::kill(server, SIGTERM);
  wait_for_exit(server);
}

// If stderr isn't the stream that JOURNAL_STREAM names, it gets plain text.
TEST_F(ServerLogTest, AForeignJournalStreamIsNotTaken) {
  ::setenv("JOURNAL_STREAM", "1:1", 1);
  server_.start();
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_TRUE(server_.logs(" info: listening on "));
}

}  // namespace
}  // namespace signalbox
