// Tests `tick.*` over the dispatcher: the responses, and the events that a refusal records.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/scheduler/watchdog_loop.h"
#include "server/text/time_text.h"
#include "tests/server/executor_fixture.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcTick : public ::testing::Test, protected RpcSite {
 protected:
  void start_server() { take(StartServer{"x"}); }
  json::object begin(const std::string& more = "") {
    return ask("tick.begin", R"({"loop":"nightly","stage":"plan","reason":"cron","lease_ms":1000)" +
                                 (more.empty() ? "" : "," + more) + "}");
  }
  json::object end(std::int64_t token, const std::string& outcome = "succeeded") {
    return ask("tick.end", R"({"loop":"nightly","token":)" + std::to_string(token) +
                               R"(,"outcome":")" + outcome + "\"}");
  }
  static std::int64_t token_of(const json::object& answer) {
    return answer.at("result").at("token").to_number<std::int64_t>();
  }
  // Begins a tick with this marker in its run root.
  json::object begin_with_marker(const std::string& content) {
    std::filesystem::create_directories(root.path() / "logs");
    write_text(root.path() / "logs" / "tick-in-progress.json", content);
    return begin(R"("run_root":")" + root.path().string() + "\"");
  }
  std::string minutes_ago(int minutes) const {
    return format_time(clock.wall_ns() - std::int64_t{minutes} * 60 * 1'000'000'000);
  }

  using Names = std::vector<std::string>;
  TemporaryDirectory root;
};

TEST_F(RpcTick, BeginsAndEnds) {  // T1
  const auto begun = begin();
  EXPECT_EQ(token_of(begun), 1);
  EXPECT_EQ(begun.at("result").at("loop"), "nightly");
  EXPECT_TRUE(begun.at("result").at("marker_path").is_null());
  const auto ended = end(1, "failed");
  EXPECT_EQ(ended.at("result").at("error").at("code"), "FAILED");
  EXPECT_EQ(code_of(end(1)), "STALE_TOKEN");
  EXPECT_EQ(token_of(begin()), 3) << "the guard is free after an error";  // T3
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickFailed", "TickStarted"}));
}

TEST_F(RpcTick, ASecondBeginIsSkippedAndSaysSo) {  // T3
  begin();
  const auto listener = std::make_shared<ListeningPeer>();
  const auto only_broadcasts = std::make_shared<ListeningPeer>();
  dispatcher.handle(R"({"jsonrpc":"2.0","id":1,"method":"events.subscribe"})",
                    {"uid:1", Role::admin}, listener);
  dispatcher.handle(
      R"({"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"types":["heartbeat.skipped"]}})",
      {"uid:1", Role::admin}, only_broadcasts);
  const auto skipped = begin();
  EXPECT_EQ(code_of(skipped), "TICK_IN_PROGRESS");
  EXPECT_EQ(details_of(skipped).at("token"), 1);
  EXPECT_TRUE(details_of(skipped).at("started_at").is_string());
  EXPECT_EQ(event_types(2), Names{"TickSkipped"});

  feed.publish(std::vector<Commit>{log.read_commit(2).value()});
  ASSERT_EQ(listener->delivered.size(), 2U);
  EXPECT_EQ(json::parse(listener->delivered[0]).at("method"), "event");
  const auto broadcast = json::parse(listener->delivered[1]);
  EXPECT_EQ(broadcast.at("method"), "heartbeat.skipped");
  EXPECT_EQ(broadcast.at("params").at("loop"), "nightly");
  EXPECT_EQ(broadcast.at("params").at("reason"), "tick_in_progress");
  EXPECT_EQ(broadcast.at("params").at("token"), 1);
  EXPECT_EQ(broadcast.at("params").at("position"), 2);
  ASSERT_EQ(only_broadcasts->delivered.size(), 1U);
  EXPECT_EQ(json::parse(only_broadcasts->delivered[0]).at("method"), "heartbeat.skipped");
}

TEST_F(RpcTick, ALeaseThatIsOverCountsBeforeItsTimerFires) {  // T4, W4
  begin();
  clock.advance_ms(1000);
  EXPECT_EQ(code_of(end(1)), "STALE_TOKEN");
  EXPECT_EQ(event_types(2), Names{"TickTimedOut"});
  const auto halted = begin();
  EXPECT_EQ(code_of(halted), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(details_of(halted).at("evidence"), "lease_over");
  EXPECT_EQ(details_of(halted).at("stale_after_ms"), 1000);
  EXPECT_EQ(details_of(halted).at("marker_age_ms"), 1000);
  EXPECT_EQ(code_of(begin()), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(event_types(3), Names{"TickIncompleteDetected"}) << "one for each halt";

  const auto recovered = ask("tick.recover", R"({"loop":"nightly","reason":"looked"})");
  EXPECT_EQ(recovered.at("result").at("recovered"), true);
  EXPECT_EQ(recovered.at("result").at("actor"), "uid:1");  // T5
  EXPECT_EQ(code_of(begin()), "");
}

TEST_F(RpcTick, ATickOfAnEarlierLifeIsIncomplete) {  // T4
  start_server();
  begin();
  start_server();
  const auto halted = begin();
  EXPECT_EQ(code_of(halted), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(details_of(halted).at("evidence"), "earlier_incarnation");
}

TEST_F(RpcTick, ARefusalUsesUpNoCommandId) {
  begin();
  EXPECT_EQ(code_of(begin(R"("command_id":"c-1")")), "TICK_IN_PROGRESS");
  end(1);
  const auto again = begin(R"("command_id":"c-1")");
  EXPECT_EQ(code_of(again), "");
  const auto repeated = begin(R"("command_id":"c-1")");
  EXPECT_EQ(token_of(repeated), token_of(again));
  EXPECT_EQ(repeated.at("result").at("replayed"), true);
}

TEST_F(RpcTick, AForeignMarkerIsInTheWayUntilItIsFiveMinutesOld) {  // T4
  const auto marker = [](const std::string& ts) {
    return R"({"schema_version":"tick_in_progress.v1","ts":")" + ts +
           R"(","stage":"plan","reason":"theirs"})";
  };
  const auto fresh = begin_with_marker(marker(minutes_ago(4)));
  EXPECT_EQ(code_of(fresh), "TICK_IN_PROGRESS");
  EXPECT_EQ(event_types(), Names{"TickSkipped"});

  const auto stale = begin_with_marker(marker(minutes_ago(6)));
  EXPECT_EQ(code_of(stale), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(details_of(stale).at("evidence"), "foreign_marker");
  EXPECT_EQ(details_of(stale).at("marker").at("reason"), "theirs") << "as an object";
  EXPECT_EQ(details_of(stale).at("marker_age_ms"), 6 * 60 * 1000);
  EXPECT_EQ(details_of(stale).at("stale_after_ms"), 5 * 60 * 1000);
  EXPECT_EQ(details_of(stale).at("marker_path"),
            json::value((root.path() / "logs" / "tick-in-progress.json").string()));
  EXPECT_EQ(event_types(2), Names{"TickIncompleteDetected"});
}

TEST_F(RpcTick, AMarkerThatCantBeReadIsIncomplete) {  // T4
  const std::vector<std::string> contents = {"",
                                             "{\n",
                                             std::string("\x00\xff\x7f", 3),
                                             "[1]",
                                             R"({"ts":"2026-01-01T00:00:00Z"})",
                                             std::string(limits::marker_bytes_max + 1, 'x')};
  for (const std::string& content : contents) {
    const auto halted = begin_with_marker(content);
    EXPECT_EQ(code_of(halted), "PREVIOUS_TICK_INCOMPLETE") << content.substr(0, 20);
    EXPECT_EQ(details_of(halted).at("evidence"), "unreadable_marker");
    EXPECT_FALSE(details_of(halted).at("marker_problem").as_string().empty());
    ask("tick.recover", R"({"loop":"nightly","reason":"looked"})");
  }
  const auto path = root.path() / "logs" / "tick-in-progress.json";
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/hostname", path);
  const auto linked = begin(R"("run_root":")" + root.path().string() + "\"");
  EXPECT_EQ(details_of(linked).at("evidence"), "unreadable_marker");
  ask("tick.recover", R"({"loop":"nightly","reason":"looked"})");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  const auto directory = begin(R"("run_root":")" + root.path().string() + "\"");
  EXPECT_EQ(details_of(directory).at("evidence"), "unreadable_marker");
  EXPECT_TRUE(details_of(directory).at("marker").is_null());
}

TEST_F(RpcTick, AMarkerFromTheFutureHaltsUntilItIsRecovered) {  // A10
  const auto marker = [this](int minutes) {
    return R"({"ts":")" + minutes_ago(minutes) + R"(","stage":"plan","reason":"cron"})";
  };
  const auto halted = begin_with_marker(marker(-60));
  EXPECT_EQ(code_of(halted), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(details_of(halted).at("evidence"), "foreign_marker");
  EXPECT_TRUE(details_of(halted).at("marker_age_ms").is_null());
  EXPECT_EQ(code_of(ask("tick.recover", R"({"loop":"nightly","reason":"looked"})")), "");
  EXPECT_EQ(code_of(begin_with_marker(marker(0))), "TICK_IN_PROGRESS");
}

TEST_F(RpcTick, AMarkerMayBeFromALittleLaterAsClocksDiffer) {  // A10, P8
  const auto marker_in_ms = [this](std::int64_t ms) {
    return R"({"ts":")" + format_time(clock.wall_ns() + ms * 1'000'000) +
           R"(","stage":"plan","reason":"cron"})";
  };
  EXPECT_EQ(code_of(begin_with_marker(marker_in_ms(limits::clock_difference_ms_max))),
            "TICK_IN_PROGRESS");
  const auto beyond = begin_with_marker(marker_in_ms(limits::clock_difference_ms_max + 1));
  EXPECT_EQ(code_of(beyond), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_TRUE(details_of(beyond).at("marker_age_ms").is_null());
}

TEST_F(RpcTick, AMarkerOfTheLogsOwnTickIsNoObstacle) {  // T4
  const auto begun = begin(R"("run_root":")" + root.path().string() + "\"");
  const std::string ts(begun.at("result").at("started_at").as_string());
  end(token_of(begun));
  const std::string marker =
      R"({"schema_version":"tick_in_progress.v1","ts":")" + ts +
      R"(","stage":"plan","reason":"cron","token":1,"loop":"nightly","lease_ms":1000})";
  clock.advance_ms(10 * 60 * 1000);
  EXPECT_EQ(code_of(begin_with_marker(marker)), "") << "its end is in the log";
  end(3);
  // The same token with another time belongs to another log.
  std::string other = marker;
  other.replace(other.find(ts), ts.size(), minutes_ago(6));
  EXPECT_EQ(code_of(begin_with_marker(other)), "PREVIOUS_TICK_INCOMPLETE");
}

TEST_F(RpcTick, LoopsShareAMarkerHoweverTheyNameItsPlace) {  // A10
  const auto begin_other = [this](const std::string& run_root) {
    return ask("tick.begin", R"({"loop":"other","run_root":")" + run_root + "\"}");
  };
  const std::string run = start_run(R"({"goal":"g"})");
  const auto of_run = begin(R"("run_id":")" + run + "\"");
  ASSERT_EQ(code_of(of_run), "");
  EXPECT_EQ(code_of(begin_other("/data/runs/" + run)), "TICK_IN_PROGRESS");
  EXPECT_EQ(code_of(begin_other("/data/./runs//" + run + "/")), "TICK_IN_PROGRESS");
  ASSERT_EQ(code_of(end(token_of(of_run))), "");

  const std::string here = root.path().string();
  const auto begun = begin(R"("run_root":")" + here + "/.\"");
  ASSERT_EQ(code_of(begun), "");
  EXPECT_EQ(begun.at("result").at("run_root"), json::value(here));
  EXPECT_EQ(code_of(begin_other(here)), "TICK_IN_PROGRESS");

  // By way of a link only the marker itself says so.
  TemporaryDirectory links;
  std::filesystem::create_directory_symlink(root.path(), links.path() / "link");
  std::filesystem::create_directories(root.path() / "logs");
  write_text(root.path() / "logs" / "tick-in-progress.json",
             R"({"ts":")" + std::string(begun.at("result").at("started_at").as_string()) +
                 R"(","stage":"plan","reason":"cron","loop":"nightly","token":)" +
                 std::to_string(token_of(begun)) + "}");
  EXPECT_EQ(code_of(begin_other((links.path() / "link").string())), "TICK_IN_PROGRESS");
  clock.advance_ms(1000);
  const auto halted = begin_other((links.path() / "link").string());
  EXPECT_EQ(code_of(halted), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(details_of(halted).at("loop"), "nightly");
}

TEST_F(RpcTick, ATickWithoutItsLockHasFailed) {  // L8
  AcquireLock acquire;
  acquire.key = "deploy";
  acquire.owner = "ann";
  acquire.lease_ms = 500;
  take(acquire);
  const Token lock = log.tail();
  const auto begun = begin(R"("lock_token":)" + std::to_string(lock));
  ASSERT_EQ(code_of(begun), "");
  clock.advance_ms(600);
  EXPECT_EQ(code_of(end(token_of(begun))), "STALE_TOKEN");
  EXPECT_EQ(event_types(3), (Names{"LockExpired", "TickFailed"}));
  const auto failed = log.read(4, 1).value().front();
  EXPECT_EQ(event_as<TickFailed>(failed.event)->code, "LOCK_LOST");
  EXPECT_EQ(code_of(begin(R"("lock_token":)" + std::to_string(lock))), "LOCK_LOST");
}

TEST_F(RpcTick, TheServicesOwnLoopsAreNotForClients) {
  EXPECT_EQ(code_of(ask("tick.begin", R"({"loop":"watchdog"})")), "NOT_ALLOWED");
  EXPECT_EQ(code_of(ask("tick.end", R"({"loop":"watchdog","token":1,"outcome":"failed"})")),
            "NOT_ALLOWED");
  EXPECT_EQ(log.tail(), 0u);
}

class OwnLoop : public RpcTick {
 protected:
  WatchdogLoop loop{engine, clock, 1000, [this](const World&) { return work; },
                    [this] {
                      ++sweeps;
                      if (broken) throw std::runtime_error("no eyes");
                    }};
  void pass() {
    clock.advance_ms(1000);
    loop.run_if_due();
    commit_all();
  }
  bool work = true;
  bool broken = false;
  int sweeps = 0;
};

TEST_F(OwnLoop, TicksWhileThereIsSomethingToWatch) {  // W1
  loop.arm();
  pass();
  pass();
  EXPECT_EQ(sweeps, 2);
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickSucceeded", "TickStarted", "TickSucceeded"}));
  work = false;
  pass();
  EXPECT_EQ(loop.next_due_ns(), std::nullopt);
  pass();
  EXPECT_EQ(log.tail(), 4u) << "an idle service writes nothing";
  loop.apply(log.read_commit(1).value());
  EXPECT_EQ(loop.next_due_ns(), std::nullopt) << "its own tick is no work";
}

TEST_F(OwnLoop, ATickThatFailsLeavesTheGuardFree) {  // T3
  broken = true;
  loop.arm();
  pass();
  EXPECT_EQ(event_types(), (Names{"TickStarted", "TickFailed"}));
  EXPECT_EQ(event_as<TickFailed>(log.read(2, 1).value().front().event)->error, "no eyes");
  broken = false;
  pass();
  EXPECT_EQ(event_types(3), (Names{"TickStarted", "TickSucceeded"}));
}

TEST_F(OwnLoop, RecoversByItselfFromACrashInATick) {  // T5
  start_server();
  BeginTick interrupted;
  interrupted.loop = "watchdog";
  interrupted.own_loop = true;
  take(interrupted);
  start_server();
  loop.arm();
  pass();
  EXPECT_EQ(event_types(4), (Names{"TickRecovered", "TickStarted", "TickSucceeded"}));
}

// The service's own loops write no markers: what halts a client's loop must not halt them.
TEST_F(RpcTick, AMarkerThatNamesATickOfTheServiceIsForeign) {  // T4, G8
  BeginTick own;
  own.loop = "watchdog";
  own.stage = "sweep";
  own.reason = "timer";
  own.own_loop = true;
  take(own);
  const auto records = log.read(1, 1);
  ASSERT_TRUE(records.has_value());
  const auto refused = begin_with_marker(
      R"({"schema_version":"tick_in_progress.v1","loop":"watchdog","token":"1","ts":")" +
      format_time(records->front().recorded_at_ns) + R"(","stage":"sweep","reason":"timer"})");
  EXPECT_EQ(code_of(refused), "TICK_IN_PROGRESS");
  EXPECT_EQ(details_of(refused).at("loop"), "nightly") << json::serialize(refused);
}

}  // namespace
}  // namespace signalbox
