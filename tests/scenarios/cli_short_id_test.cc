// Ids on the command line: the end of one, or `last`.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(CliTest, TheEndOfAnIdAndLastAreTakenEverywhere) {  // O2
  const std::string older = start_run("older");
  const std::string newer = start_run("newer");
  const auto goal_of = [this](const std::string& id, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", "get", id};
    words.insert(words.end(), more.begin(), more.end());
    return text(result(std::move(words)).at("run").as_object(), "goal");
  };
  const std::string tail = older.substr(older.size() - 8);
  EXPECT_EQ(goal_of(tail), "older");
  EXPECT_EQ(goal_of("…" + tail), "older");
  EXPECT_EQ(goal_of("last"), "newer");
  EXPECT_EQ(goal_of(tail, {"--at", "0s"}), "older") << "of the past, too";
  EXPECT_EQ(result({"events", "--run", tail}).at("events").as_array().size(), 1U);
  EXPECT_EQ(result({"replay", "--run", "last"}).at("records").as_array().size(), 1U);
  EXPECT_EQ(server_.cli({"run", "pause", tail}).out, "paused\n");
  EXPECT_EQ(server_.cli({"run", "cancel", tail, "--wait"}).exit_code, 0);
  EXPECT_EQ(text(run(older), "status"), "canceled");
  EXPECT_EQ(text(run(newer), "status"), "queued");

  const std::string other = tail.substr(0, 7) + (tail.back() == '0' ? "1" : "0");
  EXPECT_EQ(code_of(server_.cli({"run", "get", other, "--json"})), "RUN_NOT_FOUND");
  EXPECT_EQ(code_of(server_.cli({"run", "get", "abc", "--json"})), "INVALID_PARAMS");
  for (const char* none : {"zz", "abc", "no id at all"}) {
    const Output told = server_.cli({"run", "get", none});
    EXPECT_EQ(told.exit_code, 2) << told.err;
    EXPECT_NE(told.err.find("must be `last`, or the end of a "), std::string::npos) << told.err;
  }
  // What a program sends is sent as it is.
  EXPECT_EQ(code_of(server_.cli({"rpc", "run.get", R"({"run_id":"last"})", "--json"})),
            "INVALID_PARAMS");
}

TEST_F(CliTest, WatchGoesOnWithTheRunThatWasTheLastAtFirst) {  // O2
  const std::string run = start_run("watched");
  const auto out = scratch_.path() / "watch.out";
  const pid_t watcher =
      spawn_process({SIGNALBOX_BINARY, "run", "watch", "last", "--data", server_.data().string()},
                    out, scratch_.path() / "watch.err");
  await([&] { return content_of(out).find("RunStarted") != std::string::npos; });
  start_run("later");
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  EXPECT_EQ(wait_for_exit(watcher), 1);
  EXPECT_NE(content_of(out).find("watched"), std::string::npos) << content_of(out);
  EXPECT_EQ(content_of(out).find("later"), std::string::npos) << content_of(out);
}

}  // namespace
}  // namespace signalbox
