// `run why` with the real binary: each reason for which a run may wait, with the event that caused
// it and the commands that change it.
#include <chrono>
#include <fstream>

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "tests/eventually.h"
#include "tests/scenarios/run_why_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(RunWhyTest, NoWorkerHasClaimedIt) {  // S12
  const std::string run = start("idle", worker);
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "no_worker");
  EXPECT_EQ(text(found, "cause_event"), "RunStarted");
  EXPECT_EQ(text(found, "station"), "work");
  EXPECT_NE(text(found, "unblocked_by").find("should execute names an `executor`"),
            std::string::npos)
      << "its writer may have forgotten that";
  EXPECT_FALSE(why(run).at("moving").as_bool());
  EXPECT_EQ(paste(found, 0).exit_code, 0);
  EXPECT_EQ(text(reason(run), "reason"), "running");
}

TEST_F(RunWhyTest, AnAttemptIsUnderWay) {  // S12
  const std::string run = start("busy", worker);
  take(run);
  ASSERT_EQ(server_
                .cli({"station", "heartbeat", "--run", run, "--station", "work", "--token", token_,
                      "--progress-digest", "half"})
                .exit_code,
            0);
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "running");
  EXPECT_EQ(text(found, "cause_event"), "StationClaimed");
  EXPECT_EQ(json::serialize(found.at("cause_position")), token_);
  EXPECT_EQ(text(found, "holder"), "w");
  for (const char* time : {"since", "until", "last_heartbeat_at", "last_progress_at"}) {
    EXPECT_TRUE(found.contains(time)) << time;
  }
  EXPECT_TRUE(why(run).at("moving").as_bool());
  EXPECT_EQ(paste(found, 1).exit_code, 0);
}

TEST_F(RunWhyTest, AllPlacesForJobsAreTaken) {  // S12
  const std::string first = start("first", held_job());
  ASSERT_TRUE(eventually([&] { return text(reason(first), "reason") == "running"; }));
  const std::string second = start("second", held_job());
  const auto found = reason(second);
  EXPECT_EQ(text(found, "reason"), "jobs_max");
  EXPECT_EQ(found.at("holders").at(0).at("run_id").as_string(), first);
  EXPECT_EQ(found.at("holders").at(0).at("station").as_string(), "job");
  EXPECT_EQ(paste(found, 0).exit_code, 0);
  std::ofstream(gate()) << "open";
  EXPECT_EQ(server_.cli({"run", "watch", second}).exit_code, 0);
}

TEST_F(RunWhyTest, ItWaitsForItsNextAttempt) {  // S12
  const std::string run = start("backoff", worker + "[station.retry]\nbackoff = \"30m\"\n");
  take(run);
  end_attempt(run, "work",
              {{"error_class", "transient"}, {"error_code", "NET"}, {"error_message", "no route"}});
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "backoff");
  EXPECT_EQ(text(found, "cause_event"), "StationAttemptFailed");
  EXPECT_TRUE(has(found, "NET: no route")) << text(found, "text");
  EXPECT_TRUE(found.contains("until"));
  EXPECT_EQ(found.at("attempt"), 1);
}

TEST_F(RunWhyTest, ItsWorkerGaveItBack) {  // S12
  const std::string run = start("deferred", worker);
  take(run);
  ASSERT_EQ(server_
                .cli({"station", "defer", "--run", run, "--station", "work", "--token", token_,
                      "--delay-ms", "3600000", "--note", "not before noon"})
                .exit_code,
            0);
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "deferred");
  EXPECT_EQ(text(found, "cause_event"), "StationDeferred");
  EXPECT_TRUE(has(found, "not before noon"));
  EXPECT_TRUE(found.contains("until"));
}

TEST_F(RunWhyTest, AUsageLimitIsReached) {  // S12
  const std::string run = start("quota", worker);
  take(run);
  const auto reset_ns =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1) +
      3'600'000'000'000;
  end_attempt(run, "work",
              {{"error_class", "quota"},
               {"error_message", "5-hour limit"},
               {"quota_reset_at", format_time(reset_ns)}});
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "quota");
  EXPECT_TRUE(has(found, "5-hour limit"));
  EXPECT_TRUE(found.contains("until"));
}

TEST_F(RunWhyTest, ItIsAliveAndDoesntGetOn) {  // S12
  const std::string run =
      start("stalled", worker + "stall_after = \"30ms\"\nstall_actions = [\"nudge\"]\n");
  take(run);
  ASSERT_EQ(server_
                .cli({"station", "heartbeat", "--run", run, "--station", "work", "--token", token_,
                      "--progress-digest", "same"})
                .exit_code,
            0);
  ASSERT_TRUE(eventually([&] { return text(reason(run), "reason") == "stalled"; }));
  const auto found = reason(run);
  EXPECT_EQ(text(found, "cause_event"), "StationStalled");
  EXPECT_TRUE(has(found, "its progress is still \"same\"")) << text(found, "text");
  EXPECT_TRUE(found.contains("last_progress_at"));
  EXPECT_FALSE(why(run).at("moving").as_bool());
}

TEST_F(RunWhyTest, ItsBudgetIsUsedUp) {  // S7, S12
  const std::string run =
      start("budget", "[[station]]\nname = \"first\"\n" + worker, {"--max-turns", "2"});
  take(run);
  end_attempt(run, "first",
              {{"outcome", "succeeded"},
               {"usage", {{"cost_microusd", 1'500'000}, {"tokens", 10}, {"turns", 3}}}});
  auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "budget");
  EXPECT_TRUE(has(found, "3 of 2 turns")) << text(found, "text");
  EXPECT_NE(server_.cli({"run", "get", run}).out.find("1.50 USD, 10 tokens, 3 of 2 turns"),
            std::string::npos);
  EXPECT_EQ(server_.cli({"run", "resume", run, "--max-turns", "3"}).exit_code, 1);
  EXPECT_EQ(paste(found, 0).exit_code, 0);
  EXPECT_EQ(text(reason(run), "reason"), "no_worker");
}

TEST_F(RunWhyTest, SomebodyPausedIt) {  // S11, S12
  const std::string run = start("paused", worker);
  ASSERT_EQ(server_.cli({"run", "pause", run, "--reason", "the API is down"}).exit_code, 0);
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "paused");
  EXPECT_EQ(text(found, "cause_event"), "RunPaused");
  EXPECT_TRUE(has(found, "the API is down"));
  EXPECT_TRUE(text(found, "holder").starts_with("uid:"));
  EXPECT_EQ(paste(found, 0).exit_code, 0);
  EXPECT_EQ(text(reason(run), "reason"), "no_worker");
}

TEST_F(RunWhyTest, ItsJobIsntGoneYet) {  // S11, S12
  const std::string run = start("cancel", held_job());
  ASSERT_TRUE(eventually([&] { return text(reason(run), "reason") == "running"; }));
  ASSERT_EQ(server_.cli({"run", "cancel", run, "--reason", "wrong branch"}).exit_code, 0);
  auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "cancel_requested");
  EXPECT_EQ(text(found, "cause_event"), "RunCancelRequested");
  EXPECT_TRUE(has(found, "wrong branch"));
  EXPECT_FALSE(why(run).at("moving").as_bool());
  std::ofstream(gate()) << "open";
  ASSERT_TRUE(eventually([&] { return text(why(run), "status") == "canceled"; }));
  found = reason(run);
  EXPECT_EQ(text(found, "reason"), "canceled");
  EXPECT_TRUE(text(found, "holder").starts_with("uid:"));
}

TEST_F(RunWhyTest, ItsLockWasLost) {  // L8, S12
  const std::string run = start("lock", worker + "[station.retry]\nbackoff = \"30m\"\n");
  const auto lock = result({"lock", "acquire", "deploy", "--owner", "w"});
  const std::string lock_token = json::serialize(lock.at("token"));
  result({"station", "claim", "--worker", "w", "--run", run, "--lock-token", lock_token});
  result({"lock", "release", "deploy", "--token", lock_token});
  const auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "lock_lost");
  EXPECT_EQ(text(found, "cause_event"), "LockReleased");
  EXPECT_TRUE(has(found, "lock deploy was lost"));
  EXPECT_EQ(paste(found, 0).exit_code, 0);
}

TEST_F(RunWhyTest, ItHasEnded) {  // S12
  const std::string good = start("good", worker);
  take(good);
  end_attempt(good, "work", {{"outcome", "succeeded"}});
  EXPECT_EQ(text(reason(good), "reason"), "succeeded");

  const std::string bad = start("bad", worker);
  take(bad);
  end_attempt(bad, "work", {{"error_class", "config"}, {"error_code", "NO_KEY"}});
  const auto found = reason(bad);
  EXPECT_EQ(text(found, "reason"), "failed");
  EXPECT_EQ(text(found, "cause_event"), "StationFailed");
  EXPECT_TRUE(has(found, "NO_KEY"));
  EXPECT_EQ(found.at("attempt"), 1);
  EXPECT_EQ(paste(found, 0).exit_code, 0);
  EXPECT_EQ(text(reason(bad), "reason"), "no_worker");
}

// The reasons are the same after a crash, and the run goes on from there.
TEST_F(RunWhyTest, AfterAKillItIsToldTheSame) {  // S11, P6
  const std::string run = start("killed", worker);
  take(run);
  end_attempt(run, "work", {{"error_class", "config"}, {"error_code", "NO_KEY"}});
  server_.kill();
  server_.start();
  auto found = reason(run);
  EXPECT_EQ(text(found, "reason"), "failed");
  ASSERT_EQ(paste(found, 0).exit_code, 0);
  server_.kill();
  server_.start();
  found = reason(run);
  EXPECT_EQ(text(found, "reason"), "no_worker");
  EXPECT_EQ(text(found, "cause_event"), "RunRetried");
  const auto status = result({"status"});
  const auto folded = result({"replay", "--to", json::serialize(status.at("position"))});
  EXPECT_EQ(folded.at("state_digest"), status.at("state_digest"));
  take(run);
  end_attempt(run, "work", {{"outcome", "succeeded"}});
  EXPECT_EQ(server_.cli({"run", "watch", run}).exit_code, 0) << "its first end isn't the last";
}

TEST_F(RunWhyTest, IsShownToAPerson) {  // S12
  const std::string run = start("shown", worker);
  const std::string shown = server_.cli({"run", "why", run}).out;
  EXPECT_NE(shown.find("status  queued, waiting\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("no_worker       no worker has claimed station work yet\n"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.find("next            signalbox station claim --worker me --run " + run + "\n"),
            std::string::npos)
      << shown;
  EXPECT_EQ(server_.cli({"run", "why", "00000000-0000-0000-0000-000000000000"}).exit_code, 1);
}

TEST_F(RunWhyTest, TheLedgerTellsWhichStrategyHelped) {  // D4
  const std::string run = start(
      "ledger",
      worker + "[station.retry]\nbackoff = \"0s\"\nstrategies = [\"original\", \"simplified\"]\n",
      {"--project", "web"});
  take(run);
  end_attempt(run, "work", {{"error_class", "terminal"}});
  ASSERT_TRUE(eventually([&] { return text(reason(run), "reason") == "no_worker"; }));
  take(run);
  end_attempt(run, "work", {{"outcome", "succeeded"}});
  const auto ledger = result({"strategy", "list", "--project", "web", "--station", "work"});
  EXPECT_EQ(json::serialize(ledger.at("strategies")),
            R"([{"project":"web","station":"work","error_class":"terminal",)"
            R"("strategy":"simplified","tried":1,"succeeded":1}])");
  ASSERT_EQ(server_.stop(), 0);
  std::filesystem::remove_all(server_.data() / "projections");
  server_.start();
  EXPECT_EQ(result({"strategy", "list"}).at("strategies"), ledger.at("strategies"));
}

}  // namespace
}  // namespace signalbox
