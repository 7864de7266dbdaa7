// `signalbox report`: last night in one screen.
#include <algorithm>

#include "server/text/time_text.h"
#include "tests/scenarios/redaction_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ReportTest : public CliTest {
 protected:
  // Does the station of a run, with this outcome.
  void work(const std::string& goal, const std::vector<std::string>& more) {
    const std::string run_id = start_run_of("name = \"one\"\n[[station]]\nname = \"build\"\n", goal,
                                            {"--max-retries", "0"});
    std::vector<std::string> words = {"station",   "complete", "--run",   run_id,
                                      "--station", "build",    "--token", claim(run_id)};
    words.insert(words.end(), more.begin(), more.end());
    const Output done = server_.cli(words);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  [[nodiscard]] Output report(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "report");
    return server_.cli(std::move(more));
  }
};

TEST_F(ReportTest, OneScreenHasTheNight) {  // O3
  work("a parser", {"--outcome", "succeeded"});
  for (const char* code : {"NO_IDEA", "NO_SPACE", "NO_TIME", "NO_KEY", "NO_NET", "NO_FUN"}) {
    work(std::string("without ") + code,
         {"--outcome", "failed", "--error-class", "terminal", "--error-code", code});
  }
  work("a second one",
       {"--outcome", "failed", "--error-class", "terminal", "--error-code", "NO_IDEA"});
  // The goal is there at once, although rows are written now and then.
  EXPECT_NE(report().out.find("a second one"), std::string::npos) << report().out;
  server_.kill();
  server_.start();
  const Output shown = report({"--since", "24h"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part : {"8 started, 1 succeeded, 7 failed", "NO_IDEA", "a second one",
                           "2 more codes", "service down for up to", "things wait for you"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
  EXPECT_LE(std::count(shown.out.begin(), shown.out.end(), '\n'), 25) << shown.out;
}

// As it was: the report of a moment is that of the nights before it.
TEST_F(ReportTest, TheReportOfAMomentIsWhatWasReportedThen) {  // O3, O4
  work("a parser", {"--outcome", "succeeded"});
  const json::object before = result({"report"});
  work("another one", {"--outcome", "succeeded"});
  const std::string position = json::serialize(before.at("position"));
  const json::object then = result({"report", "--at", position});
  for (const char* part : {"position", "runs", "attempts", "failures", "usage", "waiting"}) {
    if (std::string_view(part) == "attempts") continue;  // the clock stands still at the position
    EXPECT_EQ(then.at(part), before.at(part)) << part;
  }
  EXPECT_EQ(result({"report"}).at("runs").at("succeeded").to_number<int>(), 2);
}

// An attempt of a small model costs less than a cent.
TEST_F(ReportTest, SmallAmountsAreShown) {  // O3
  const std::string run_id = start_run_of("name = \"one\"\n[[station]]\nname = \"build\"\n",
                                          "cheap", {"--max-cost-usd", "0.0015"});
  const json::object request{{"run_id", run_id},
                             {"station", "build"},
                             {"token", claim(run_id)},
                             {"outcome", "succeeded"},
                             {"usage", {{"cost_microusd", 1'020}, {"tokens", 10}, {"turns", 1}}}};
  result({"rpc", "station.complete", json::serialize(request)});
  const Output run = server_.cli({"run", "get", run_id});
  EXPECT_NE(run.out.find("0.00102 of 0.0015 USD, 10 tokens"), std::string::npos) << run.out;
  const Output shown = report();
  EXPECT_NE(shown.out.find("0.00102 USD, 10 tokens"), std::string::npos) << shown.out;
}

// An audit of a log that nobody serves writes into it as well.
TEST_F(RedactionTest, WhatIsRedactedAfterACrashShortensNoDownTime) {  // O3
  start_run_with_secret();
  server_.kill();
  ASSERT_EQ(server_.cli(redact_words()).exit_code, 0);
  server_.start();
  const json::array redactions = all_events("PayloadRedacted");
  ASSERT_EQ(redactions.size(), 1U);
  const json::object& redaction = redactions.front().as_object();
  const auto redacted_at = redaction.at("position").to_number<std::int64_t>();
  const json::array last =
      rpc("events.read", {{"from", redacted_at - 1}, {"limit", 1}}).at("events").as_array();
  const auto ms_of = [](const json::value& time) {
    return parse_time(std::string(time.as_string())).value_or(0) / 1'000'000;
  };
  for (const std::string& since : {std::string("24h"), std::to_string(redacted_at)}) {
    const json::object shown = result({"report", "--since", since});
    ASSERT_EQ(shown.at("crashes").as_array().size(), 1U) << since;
    const json::object& crash = shown.at("crashes").as_array().front().as_object();
    const auto down_ms = crash.at("down_ms_max").to_number<std::int64_t>();
    const auto expected_ms = ms_of(crash.at("started_at")) - ms_of(last.front().at("recorded_at"));
    EXPECT_LE(std::abs(down_ms - expected_ms), 1) << since;
    EXPECT_GT(down_ms, ms_of(crash.at("started_at")) - ms_of(redaction.at("recorded_at"))) << since;
  }
}

TEST_F(ReportTest, AMomentThatIsNoneIsRefused) {  // O3
  const Output refused = report({"--since", "yesterday", "--json"});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_EQ(code_of(refused), "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
