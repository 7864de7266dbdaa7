// `what_if.run` of a running service: over the socket and HTTP, as a viewer, and what it refuses.
#include <signal.h>

#include <chrono>
#include <optional>

#include "server/limits.h"
#include "tests/scenarios/cli_fixture.h"
#include "tests/scenarios/forecast_process.h"
#include "tests/scenarios/http_client.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class WhatIfRunTest : public CliTest {
 protected:
  // Does a run's both stations by one worker.
  void work(const std::string& goal) {
    const std::string run = start_run(goal);
    for (const char* station : {"plan", "implement"}) {
      ASSERT_EQ(complete(run, station, claim(run), "succeeded").exit_code, 0);
    }
  }
  [[nodiscard]] Output ask(const json::object& params) const {
    return server_.cli({"rpc", "what_if.run", json::serialize(params), "--json"});
  }
  [[nodiscard]] std::string refusal(const json::object& params) const {
    return code_of(ask(params));
  }
  static std::int64_t figure(const json::object& result, const char* history, const char* name) {
    return result.at(history).at(name).to_number<std::int64_t>();
  }
};

TEST_F(WhatIfRunTest, AnswersAsTheCommandDoes) {  // O10
  work("first");
  work("second");
  const json::object forecast = rpc("what_if.run", {{"policy", "[limits]\nworkers = 2\n"}});
  for (const char* history : {"recorded", "simulated", "what_if"}) {
    EXPECT_EQ(figure(forecast, history, "runs"), 2) << history;
    EXPECT_EQ(figure(forecast, history, "succeeded"), 2) << history;
    const json::object& series = forecast.at(history).at("over_time").as_object();
    EXPECT_GT(series.at("span_ms").to_number<std::int64_t>(), 0) << history;
    EXPECT_EQ(series.at("waiting").as_array().size(), series.at("at_work").as_array().size());
    EXPECT_FALSE(series.at("waiting").as_array().empty()) << history;
  }
  EXPECT_TRUE(forecast.at("error").as_object().contains("attempts"));
  // The answer is as of the end of what it read.
  EXPECT_EQ(forecast.at("position"), forecast.at("to"));

  const std::string file = (scratch_.path() / "policy.toml").string();
  write_text(file, "[limits]\nworkers = 2\n");
  const json::object same =
      result({"replay", "--what-if", file, "--to", json::serialize(forecast.at("to"))});
  for (const char* history : {"recorded", "simulated", "what_if"}) {
    EXPECT_EQ(same.at(history).at("over_time"), forecast.at(history).at("over_time")) << history;
    EXPECT_EQ(same.at(history).at("run_time"), forecast.at(history).at("run_time")) << history;
  }
}

TEST_F(WhatIfRunTest, PlaysUnderTheSettingsOfTheService) {  // O10
  work("first");
  const auto heartbeat = [this] {
    return text(rpc("what_if.run", {{"policy", ""}}).at("board").as_object(), "heartbeat");
  };
  EXPECT_EQ(heartbeat(), "366d");
  // What is written since isn't in force, and need not even be right.
  write_text((server_.data() / "signalbox.toml").string(), "[board]\nheartbeat = \"3m\"\n");
  EXPECT_EQ(heartbeat(), "366d");
  write_text((server_.data() / "signalbox.toml").string(), "[board\n");
  EXPECT_EQ(heartbeat(), "366d");
}

TEST_F(WhatIfRunTest, TakesAPartOfTheLog) {  // O4, O10
  work("first");
  const std::string between = json::serialize(result({"status"}).at("position"));
  work("second");
  EXPECT_EQ(figure(rpc("what_if.run", {{"policy", ""}, {"to", between}}), "recorded", "runs"), 1);
  EXPECT_EQ(figure(rpc("what_if.run", {{"policy", ""}, {"from", between}}), "recorded", "runs"), 1);
}

TEST_F(WhatIfRunTest, RefusesAWrongQuestionByItsField) {
  EXPECT_EQ(refusal({{"policy", "[limits]\nworker = 1\n"}}), "INVALID_PARAMS");
  EXPECT_EQ(refusal({{"policy", "[limits"}}), "INVALID_PARAMS");
  EXPECT_EQ(refusal({{"policy", ""}, {"from", "yesterday"}}), "INVALID_PARAMS");
  EXPECT_EQ(refusal({{"policy", ""}, {"from", std::string("1\0unseen", 8)}}), "INVALID_PARAMS");
  EXPECT_EQ(refusal({{"policy", ""}, {"to", std::string("1\0unseen", 8)}}), "INVALID_PARAMS");
  const std::string longest(limits::what_if_policy_bytes_max, '#');
  EXPECT_EQ(ask({{"policy", longest}}).exit_code, 0);
  EXPECT_EQ(refusal({{"policy", longest + '#'}}), "LIMIT_EXCEEDED");
  // A moment is of the answer, not of the question.
  EXPECT_EQ(refusal({{"policy", ""}, {"at", 1}}), "NOT_ALLOWED");
  const Output wrong = ask({{"policy", "[limits]\nworker = 1\n"}});
  EXPECT_NE(wrong.out.find("limits.worker; there are workers"), std::string::npos) << wrong.out;
}

TEST_F(WhatIfRunTest, AViewerMayAskOverHttp) {
  work("first");
  const std::string secret =
      text(result({"access", "issue", "reader", "--role", "viewer"}), "secret");
  const json::object request{{"jsonrpc", "2.0"},
                             {"id", 1},
                             {"method", "what_if.run"},
                             {"params", json::object{{"policy", "[limits]\nworkers = 4\n"}}}};
  const HttpReply reply =
      HttpClient(server_.socket())
          .post("/rpc", json::serialize(request), {{"Authorization", "Bearer " + secret}});
  ASSERT_EQ(reply.status, 200U) << reply.body();
  const json::object forecast = reply.json().at("result").as_object();
  EXPECT_EQ(figure(forecast, "what_if", "succeeded"), 1);
}

// A forecast whose process is stopped lasts until its bound, unless somebody ends it.
TEST_F(WhatIfRunTest, OneWhoseAskerHasGoneIsEnded) {  // G7
  work("first");
  const json::object request{{"jsonrpc", "2.0"},
                             {"id", 1},
                             {"method", "what_if.run"},
                             {"params", json::object{{"policy", ""}}}};
  for (const bool is_http : {true, false}) {
    const auto begun = std::chrono::steady_clock::now();
    std::optional<ProcessIdentity> process;
    {
      std::optional<HttpClient> client;
      // Forecasts of this log are quick: another one is asked for until one is caught.
      await([&] {
        if (!client || client->has_input()) {
          client.emplace(server_.socket());
          const std::string line = json::serialize(request) + "\n";
          client->send(is_http ? client->text("POST", "/rpc", {}, line) : line);
        }
        process = forecast_process(server_.pid());
        return process && ::kill(process->pid, SIGSTOP) == 0 && !client->has_input();
      });
    }
    ASSERT_TRUE(process);
    await([&] { return has_ended(*process); });
    EXPECT_LT(std::chrono::steady_clock::now() - begun,
              std::chrono::milliseconds(limits::what_if_ms_max))
        << "not by its bound";
  }
  EXPECT_EQ(figure(rpc("what_if.run", {{"policy", ""}}), "recorded", "runs"), 1);
}

}  // namespace
}  // namespace signalbox
