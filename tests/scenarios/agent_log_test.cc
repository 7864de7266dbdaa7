// The output of a running agent is sent to the clients that subscribed to it, and to no others.
#include <fstream>

#include "tests/crash/connection.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class AgentLog : public CliTest {
 protected:
  // Starts a run whose agent runs this script. wait_for_go() in the script blocks until go_on().
  std::string start_agent(const std::string& script) {
    return start_run_of(
        "name = \"agent\"\n[[station]]\nname = \"implement\"\n"
        "executor = \"process\"\ncommand = [\"sh\", \"-c\", '''" +
            script + "''']\n[station.retry]\nmax_retries = 0\n",
        "talk");
  }
  [[nodiscard]] std::string wait_for_go(const std::string& word = "go") const {
    return "until test -e " + (scratch_.path() / word).string() + "; do sleep 0.02; done; ";
  }
  void go_on(const std::string& word = "go") const {
    std::ofstream(scratch_.path() / word) << word;
  }

  test::Connection subscribe(const json::object& params) const {
    auto connection = test::Connection::open(server_.socket());
    EXPECT_TRUE(connection);
    EXPECT_TRUE(connection->send(test::request_line(1, "events.subscribe", params)));
    const auto answer = connection->message();
    EXPECT_TRUE(answer && answer->contains("result")) << json::serialize(*answer);
    return std::move(*connection);
  }
  // Returns the params of the next notification, which has to be an agent.log.
  static json::object next_log(test::Connection& connection) {
    const auto message = connection.message();
    EXPECT_TRUE(message);
    EXPECT_EQ(message->at("method"), "agent.log") << json::serialize(*message);
    return message->at("params").as_object();
  }
};

TEST_F(AgentLog, IsToldWithItsPlaceToWhoAsksForIt) {  // H10
  auto events = subscribe({});
  auto all = subscribe({{"types", json::array{"agent.log"}}});
  const std::string run =
      start_agent("echo first; echo wrong >&2; " + wait_for_go() + "printf 'last \\377 words'");
  const json::object first = next_log(all);
  EXPECT_EQ(first.at("run_id"), json::value(run));
  EXPECT_EQ(first.at("station"), "implement");
  EXPECT_EQ(first.at("text"), "first\n");
  EXPECT_EQ(first.at("stream"), "stdout");
  EXPECT_EQ(first.at("offset"), 0);
  EXPECT_TRUE(first.at("card_id").is_null());
  EXPECT_EQ(next_log(all).at("text"), "wrong\n");

  // The position and the span are those of the attempt's latest event.
  json::array submitted;
  ASSERT_TRUE(eventually([&] {
    submitted = this->events(run, "StationExternalRefSet");
    return submitted.size() == 1;
  }));
  EXPECT_EQ(first.at("span_id"), submitted[0].as_object().at("span_id"));
  EXPECT_EQ(first.at("parent_span_id"), json::value(run));  // A11
  EXPECT_LE(first.at("position").to_number<std::int64_t>(),
            submitted[0].as_object().at("position").to_number<std::int64_t>());

  auto late = subscribe({{"types", json::array{"agent.log"}}, {"run_id", run}});
  EXPECT_EQ(next_log(late).at("text"), "first\n") << "what was there already";
  EXPECT_EQ(next_log(late).at("text"), "wrong\n");
  auto other = subscribe({{"types", json::array{"agent.log", "RunSucceeded"}},
                          {"run_id", "01890f3c-0000-7000-8000-000000000000"}});
  go_on();
  for (test::Connection* each : {&all, &late}) {
    const json::object last = next_log(*each);
    EXPECT_EQ(last.at("text"), "last \xEF\xBF\xBD words");
    EXPECT_EQ(last.at("offset"), 6);
    EXPECT_EQ(last.at("bytes"), 12);
  }
  // The other subscribers got no log: their next notification is an event.
  for (auto message = events.message(); message; message = events.message()) {
    ASSERT_EQ(message->at("method"), "event");
    if (message->at("params").at("type") == "RunSucceeded") break;
  }
}

TEST_F(AgentLog, OfACodingAgentsJsonAPersonSeesWhatItSaysAndDoes) {
  // At once, so that they come in one piece.
  const std::string run = start_agent(
      R"(printf '%s\n' '{"type":"system","subtype":"init"}' )"
      R"('{"type":"assistant","message":{"content":[{"type":"text","text":"I look"},)"
      R"({"type":"tool_use","name":"Bash","input":{"command":"ls -l"}}]}}' )"
      R"('{"type":"item.completed","item":{"type":"agent_message","text":"I am codex"}}' )"
      R"('{"something":"else"}'; )" +
      wait_for_go());
  const auto out = scratch_.path() / "watched";
  const pid_t watcher =
      spawn_process({SIGNALBOX_BINARY, "run", "watch", run, "--data", server_.data().string()}, out,
                    scratch_.path() / "err");
  await([&] { return content_of(out).find("something") != std::string::npos; });
  go_on();
  EXPECT_EQ(wait_for_exit(watcher), 0);
  EXPECT_NE(content_of(out).find("          │ I look\n"
                                 "          │ → Bash ls -l\n"
                                 "          │ I am codex\n"
                                 "          │ {\"something\":\"else\"}\n"),
            std::string::npos)
      << content_of(out);
}

TEST_F(AgentLog, AWatcherSeesItBeforeTheEndAndAfterARestart) {
  const std::string run = start_agent("echo early; " + wait_for_go() + "echo late; " +
                                      wait_for_go("end") + "printf over");
  const auto out = scratch_.path() / "watched";
  const pid_t watcher =
      spawn_process({SIGNALBOX_BINARY, "run", "watch", run, "--data", server_.data().string()}, out,
                    scratch_.path() / "err");
  await([&] { return content_of(out).find("│ early") != std::string::npos; });
  server_.kill();
  server_.start();
  go_on();
  await([&] { return content_of(out).find("│ late") != std::string::npos; });
  go_on("end");
  EXPECT_EQ(wait_for_exit(watcher), 0);
  const std::string shown = content_of(out);
  // Events that the watcher missed while the server was away may come between them.
  const std::size_t late = shown.find("          │ late\n");
  const std::size_t over = shown.find("          │ over\n");
  ASSERT_NE(over, std::string::npos) << shown;
  EXPECT_LT(late, over) << shown;
  EXPECT_EQ(shown.find("│ early"), shown.rfind("│ early")) << "once: " << shown;
  EXPECT_LT(shown.find("│ over"), shown.find("StationSucceeded")) << shown;

  const Output quiet = server_.cli({"run", "watch", run, "--no-log"});
  EXPECT_EQ(quiet.out.find("│"), std::string::npos) << quiet.out;
}

}  // namespace
}  // namespace signalbox
