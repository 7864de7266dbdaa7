// A worker that was away for longer than its lease: its completion is refused, and the money that
// it has spent is on the bill, once.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class LateCompletion : public CliTest {
 protected:
  static constexpr const char* station = "work";

  // Starts a run, and has a worker claim its station and lose the lease. Returns the params of its
  // completion.
  json::object lose_a_lease() {
    const std::string id = start_run_of(
        "name = \"late\"\n[[station]]\nname = \"work\"\nretry = { backoff = \"1h\" }\n", "g");
    const auto claimed =
        rpc("station.claim", {{"worker", "w"}, {"run_id", id}, {"lease_ms", 10}}).at("claim");
    await([&] { return events(id, "StationAttemptFailed").size() == 1; });
    return {{"run_id", id},
            {"station", station},
            {"token", claimed.at("token")},
            {"outcome", "succeeded"},
            {"usage", {{"cost_microusd", 250'000}, {"tokens", 900}, {"turns", 5}}}};
  }
  // Returns the error of a completion that is refused.
  json::object refusal(const json::object& params) {
    const Output output =
        server_.cli({"rpc", "station.complete", json::serialize(params), "--json"});
    EXPECT_NE(output.exit_code, 0) << output.out;
    const json::object answer = one_object(output);
    return answer.contains("error") ? answer.at("error").as_object() : json::object();
  }
  static std::string said(const json::object& error) {
    return text(error.at("data").at("details").as_object(), "usage");
  }
};

TEST_F(LateCompletion, IsRefusedAndItsUsageIsOnTheBillOnce) {  // A5, P4, O3, R7
  const json::object params = lose_a_lease();
  const std::string id = text(params, "run_id");
  const json::object error = refusal(params);
  EXPECT_EQ(text(error.at("data").as_object(), "code"), "STALE_TOKEN");
  EXPECT_EQ(said(error), "recorded");
  EXPECT_NE(text(error, "message").find("what the attempt has used up was counted"),
            std::string::npos)
      << text(error, "message");
  EXPECT_EQ(said(refusal(params)), "known");
  server_.kill();
  server_.start();
  EXPECT_EQ(said(refusal(params)), "known") << "after a crash, too";
  EXPECT_EQ(events(id, "LateUsageReported").size(), 1U);

  EXPECT_EQ(text(run(id), "station_status"), "waiting") << "nothing else of it was taken";
  EXPECT_EQ(run(id).at("used"), params.at("usage"));
  const json::object usage = rpc("report.get", {}).at("usage").as_object();
  EXPECT_EQ(usage.at("cost_microusd").to_number<int>(), 250'000);
  int spans = 0;
  const json::object trace = rpc("run.trace", {{"run_id", id}});
  for (const json::value& span : trace.at("spans").as_array()) {
    const json::object& attributes = span.at("attributes").as_object();
    if (!attributes.contains("signalbox.usage.tokens")) continue;
    ++spans;
    EXPECT_EQ(span.at("name"), "work usage");
    EXPECT_EQ(attributes.at("signalbox.usage.tokens").to_number<int>(), 900);
  }
  EXPECT_EQ(spans, 1);
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
}

// The run's last event isn't its end then.
TEST_F(LateCompletion, AfterTheEndItIsNoReasonToWatchForEver) {  // A5, O9
  const std::string id = start_run_of(
      "name = \"late\"\n[[station]]\nname = \"work\"\nretry = { max_retries = 0 }\n", "g");
  const auto claimed =
      rpc("station.claim", {{"worker", "w"}, {"run_id", id}, {"lease_ms", 10}}).at("claim");
  await_status(id, "failed");
  (void)refusal({{"run_id", id},
                 {"station", station},
                 {"token", claimed.at("token")},
                 {"outcome", "succeeded"},
                 {"usage", {{"cost_microusd", 250'000}, {"tokens", 900}, {"turns", 5}}}});
  ASSERT_EQ(events(id, "LateUsageReported").size(), 1U);
  const Output watched = server_.cli({"run", "watch", id});
  EXPECT_EQ(watched.exit_code, 1) << watched.err;
  EXPECT_NE(watched.out.find("RunFailed"), std::string::npos) << watched.out;
}

}  // namespace
}  // namespace signalbox
