// Tests `watchdog.check`, pausing, and the stall ladder over the dispatcher, and that the
// watchdog's sweep finds what a missed timer would have ended.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/scheduler/watchdog_sweep.h"
#include "server/text/time_text.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcWatchdog : public ::testing::Test, protected RpcSite {
 protected:
  // Starts a run whose station has a timeout of a minute, and claims it with a long lease.
  void start_claimed(const std::string& more = "") {
    run = start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work",)"
                    R"("timeout":"60s","heartbeat_timeout":"1h")" +
                    more + "}]}}");
    const auto claimed = ask("station.claim", R"({"worker":"w"})");
    token = claimed.at("result").at("claim").at("token").to_number<std::int64_t>();
  }
  json::object about_run(const std::string& method, const std::string& more = "") {
    return ask(method, R"({"run_id":")" + run + "\"" + more + "}");
  }
  json::object check() { return about_run("watchdog.check"); }
  json::object beat(const std::string& progress = "") {
    const std::string digest = progress.empty() ? "" : R"(,"progress_digest":")" + progress + "\"";
    return about_run("station.heartbeat",
                     R"(,"station":"work","token":)" + std::to_string(token) + digest);
  }
  // Applies the commands of due timers.
  void fire_timers() {
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      (void)engine.begin({"signalbox", {}, {}}).apply(command);
    }
    commit_all();
  }
  const signalbox::Run& the_run() const { return *engine.world().find_run(*parse_uuid(run)); }

  using Names = std::vector<std::string>;
  std::string run;
  std::int64_t token = 0;
};

TEST_F(RpcWatchdog, TellsHowLongAnAttemptHasBeenGoing) {  // W1
  start_claimed();
  clock.advance_ms(1500);
  const auto answer = check();
  const auto& result = answer.at("result");
  EXPECT_EQ(result.at("timed_out"), false);
  EXPECT_EQ(result.at("stage"), "work");
  EXPECT_EQ(result.at("elapsed_s"), 1.5);
  EXPECT_EQ(result.at("timeout_s"), 60);
  EXPECT_EQ(result.at("timer_origin_field"), "stage.started_at");
  EXPECT_TRUE(result.at("timer_origin").is_string());
  EXPECT_FALSE(result.as_object().contains("checkpoint_path")) << "no timeout, no files";
  EXPECT_EQ(event_types(3), Names{});
}

TEST_F(RpcWatchdog, TimesOutInTheCallItself) {  // W1, W3
  start_claimed();
  clock.advance_ms(60'000);
  const auto answer = check();
  const auto& result = answer.at("result");
  EXPECT_EQ(result.at("timed_out"), true);
  EXPECT_EQ(result.at("elapsed_s"), 60);
  EXPECT_EQ(result.at("checkpoint_path"),
            json::value("/data/runs/" + run + "/logs/timeout-checkpoint.md"));
  EXPECT_EQ(result.at("checkpoint_json_path"),
            json::value("/data/runs/" + run + "/logs/timeout-checkpoint.json"));
  EXPECT_EQ(event_types(3), (Names{"WatchdogTimedOut", "StationAttemptFailed"}));
  EXPECT_EQ(code_of(beat()), "STALE_TOKEN");
}

TEST_F(RpcWatchdog, CountsFromTheLatestProgress) {  // W2
  start_claimed();
  clock.advance_ms(50'000);
  beat("10 %");
  const std::int64_t progressed_at_ns = clock.wall_ns();
  clock.advance_ms(50'000);
  const auto still = check();
  EXPECT_EQ(still.at("result").at("timed_out"), false);
  EXPECT_EQ(still.at("result").at("elapsed_s"), 50);
  EXPECT_EQ(still.at("result").at("timer_origin_field"), "stage.last_progress_at");
  EXPECT_EQ(still.at("result").at("timer_origin"), json::value(format_time(progressed_at_ns)));
  beat("10 %");  // no progress
  clock.advance_ms(10'000);
  EXPECT_EQ(check().at("result").at("timed_out"), true);
}

TEST_F(RpcWatchdog, APausedRunNeverTimesOut) {  // W2, S11
  start_claimed();
  const auto paused = about_run("run.pause", R"(,"reason":"lunch")");
  EXPECT_EQ(paused.at("result").at("status"), "paused");
  EXPECT_EQ(paused.at("result").at("changed"), true);
  EXPECT_EQ(about_run("run.pause").at("result").at("changed"), false);
  clock.advance_ms(120'000);
  const auto answer = check();
  EXPECT_EQ(answer.at("result").at("timed_out"), false);
  EXPECT_EQ(answer.at("result").at("paused"), true);
  fire_timers();
  EXPECT_EQ(event_types(3), Names{"RunPaused"});
  EXPECT_EQ(about_run("run.resume").at("result").at("status"), "running");
  EXPECT_EQ(about_run("run.resume").at("result").at("changed"), false);
  EXPECT_EQ(check().at("result").at("timed_out"), false) << "its time starts anew";
  clock.advance_ms(60'000);
  EXPECT_EQ(check().at("result").at("timed_out"), true);
}

TEST_F(RpcWatchdog, ARepeatedCheckGivesTheFirstAnswer) {
  start_claimed();
  clock.advance_ms(61'000);
  const auto first = about_run("watchdog.check", R"(,"command_id":"c-1")");
  const auto again = about_run("watchdog.check", R"(,"command_id":"c-1")");
  EXPECT_EQ(again.at("result").at("elapsed_s"), first.at("result").at("elapsed_s"));
  EXPECT_EQ(again.at("result").at("replayed"), true);
}

TEST_F(RpcWatchdog, AHeartbeatHearsThatItsAttemptIsStalled) {  // W5
  start_claimed(R"(,"stall_after":"10s")");
  EXPECT_EQ(beat("same").at("result").at("stalled"), false);
  clock.advance_ms(10'000);
  fire_timers();
  const auto nudged = beat("same");
  EXPECT_EQ(nudged.at("result").at("stalled"), true);
  EXPECT_EQ(nudged.at("result").at("action"), "nudge");
  EXPECT_EQ(the_run().station().status, StationStatus::waiting);
  EXPECT_EQ(the_run().station().waiting, WaitReason::stalled);
  EXPECT_EQ(beat("further").at("result").at("stalled"), false);
}

// Each report of the same stall is an event of the run, but no progress.
TEST_F(RpcWatchdog, AStalledRunIsListedWithItsLatestProgress) {  // W5
  start_claimed(R"(,"stall_after":"10s","stall_actions":["nudge","nudge","fail"])");
  beat("same");
  const std::string progress = format_time(clock.wall_ns());
  for (const char* const stall : {"first", "second"}) {
    clock.advance_ms(10'000);
    fire_timers();
    const auto listed = ask("run.list", R"({"waiting_for":"stalled"})");
    EXPECT_EQ(listed.at("result").at("runs").at(0).at("last_progress_at"), json::value(progress))
        << stall;
  }
  EXPECT_EQ(event_types(4), (Names{"StationStalled", "StationStalled"}));
}

TEST_F(RpcWatchdog, AStalledAttemptGoesDownTheLadder) {  // W5
  start_claimed(R"(,"stall_after":"10s","retry":{"max_retries":3,"backoff":"1ms",)"
                R"("strategies":["original","simplified"]})");
  beat("same");
  clock.advance_ms(10'000);
  fire_timers();
  clock.advance_ms(10'000);
  fire_timers();
  EXPECT_EQ(event_types(4), (Names{"StationStalled", "StationStalled", "StationAttemptFailed"}));
  EXPECT_EQ(code_of(beat("same")), "STALE_TOKEN");
  clock.advance_ms(1);
  fire_timers();
  const auto claimed = ask("station.claim", R"({"worker":"w"})");
  EXPECT_EQ(claimed.at("result").at("claim").at("strategy"), "simplified");
}

TEST_F(RpcWatchdog, AnAttemptIsWorthNothingWithoutItsLock) {  // L8
  ask("run.start", R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work"}]}})");
  AcquireLock acquire;
  acquire.key = "deploy";
  acquire.owner = "w";
  acquire.lease_ms = 1000;
  ASSERT_TRUE(engine.begin({"uid:1", {}, {}}).apply(acquire).has_value());
  commit_all();
  const std::string params = R"({"worker":"w","lock_token":)" + std::to_string(log.tail()) + "}";
  const auto claimed = ask("station.claim", params);
  const auto& claim = claimed.at("result").at("claim");
  run = std::string(claim.at("run_id").as_string());
  clock.advance_ms(1000);
  const auto late =
      about_run("station.complete", R"(,"station":"work","outcome":"succeeded","token":)" +
                                        json::serialize(claim.at("token")));
  EXPECT_EQ(code_of(late), "STALE_TOKEN") << "before a timer fired";
  EXPECT_EQ(event_types(4), (Names{"LockExpired", "StationAttemptFailed"}));
  EXPECT_EQ(code_of(ask("station.claim", params)), "LOCK_LOST");
}

// Timers never fire in these tests, so that only the sweep can find overdue items.
class Sweep : public RpcWatchdog {
 protected:
  std::vector<OverdueItem> pass(std::int64_t ms) {
    std::vector<OverdueItem> found;
    for (; ms > 0; ms -= 1000) {
      clock.advance_ms(1000);
      found = sweep.find_overdue(engine.world(), clock.monotonic_ns());
      if (!found.empty()) break;
    }
    return found;
  }
  WatchdogSweep sweep{1000};
};

TEST_F(Sweep, FindsAnAttemptThatATimerForgot) {  // W1
  start_claimed();
  EXPECT_TRUE(WatchdogSweep::has_work(engine.world()));
  const auto found = pass(120'000);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].command.has_value());
  EXPECT_GT(clock.monotonic_ns(), (60'000 + WatchdogSweep::patience_ms) * 1'000'000);
  EXPECT_TRUE(engine.begin({"signalbox", {}, {}}).apply(*found[0].command).has_value());
  commit_all();
  EXPECT_EQ(event_types(3), (Names{"WatchdogTimedOut", "StationAttemptFailed"}));
  EXPECT_FALSE(WatchdogSweep::has_work(engine.world()));
}

TEST_F(Sweep, FindsATickThatATimerForgot) {  // W4
  ask("tick.begin", R"({"loop":"nightly","lease_ms":30000})");
  EXPECT_TRUE(WatchdogSweep::has_work(engine.world()));
  const auto found = pass(120'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<TimeOutTick>(*found[0].command));
}

TEST_F(Sweep, HoldsNothingAgainstAPausedRunNorAgainstTheTimeThatItSlept) {  // W2
  start_claimed();
  about_run("run.pause");
  EXPECT_TRUE(pass(200'000).empty());
  about_run("run.resume");
  sweep.apply(log.read_commit(log.tail()).value());
  EXPECT_TRUE(pass(60'000).empty());
  clock.advance_ms(3'600'000);
  EXPECT_TRUE(sweep.find_overdue(engine.world(), clock.monotonic_ns()).empty());
}

TEST_F(Sweep, FindsAJobWhoseSupervisorIsLongPastItsTime) {  // W1
  ask("run.start",
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work","executor":"process",)"
      R"("command":["true"],"timeout":"10s","cancel_grace":"1s"}]}})");
  const RunId id = engine.world().runs.begin()->first;
  ASSERT_TRUE(engine.begin({"signalbox", {}, {}}).apply(DispatchStation{id, {}}).has_value());
  commit_all();
  EXPECT_TRUE(pass(60'000).empty());
  const auto found = pass(60'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].job_id, to_string(id) + "-work-1");
  EXPECT_FALSE(found[0].command.has_value());
}

// A runner that sleeps when it is given the job begins it late, and its job sleeps with it.
TEST_F(Sweep, CountsTheTimeInWhichTheRunnerHasTheJob) {  // W1, N5
  ask("run.start",
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work","executor":"process",)"
      R"("command":["true"],"timeout":"10s","cancel_grace":"1s"}]}})");
  const RunId id = engine.world().runs.begin()->first;
  ASSERT_TRUE(engine.begin({"signalbox", {}, {}}).apply(DispatchStation{id, {}, {}, "runner:a-1"}));
  commit_all();
  bool has_job = false;
  sweep = WatchdogSweep(1000, [&has_job](const Attempt& attempt) {
    EXPECT_EQ(attempt.machine, "runner:a-1");
    return has_job;
  });
  EXPECT_TRUE(pass(600'000).empty());
  has_job = true;
  EXPECT_TRUE(pass(60'000).empty());
  has_job = false;
  EXPECT_TRUE(pass(600'000).empty());
  has_job = true;
  EXPECT_TRUE(pass(60'000).empty());
  EXPECT_EQ(pass(60'000).size(), 1U);
}

}  // namespace
}  // namespace signalbox
