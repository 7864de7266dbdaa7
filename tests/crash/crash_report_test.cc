// The report of a start after a crash, and the effects that a stopped process or a clock set
// wrongly must not have.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "tests/crash/fake_wall_clock.h"
#include "tests/crash/server_test.h"
#include "tests/eventually.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

class CrashReport : public ServerTest {
 protected:
  std::string start_run(json::object station) {
    station["name"] = "work";
    return ServerTest::start_run(
        {{"goal", "g"}, {"pipeline", {{"name", "one"}, {"station", {station}}}}});
  }
  json::object claim(const std::string& run_id, std::int64_t lease_ms) {
    return call("station.claim", {{"worker", "ann"}, {"run_id", run_id}, {"lease_ms", lease_ms}})
        .at("claim")
        .as_object();
  }
};

TEST_F(CrashReport, HasOneVerdictForEachThingInFlight) {  // T8
  ASSERT_TRUE(server_.start()) << server_.log();
  EXPECT_TRUE(call("server.crash_report").at("report").is_null());
  const std::string claimed = start_run({{"executor", "worker"}});
  claim(claimed, 60'000);
  const std::string going =
      start_run({{"executor", "process"}, {"command", {"sleep", "20"}}, {"cancel_grace", "100ms"}});
  ASSERT_TRUE(eventually([this] { return events("StationExternalRefSet").size() == 1; }));
  const std::uint64_t last = number_of(call("server.status").at("position"));
  server_.kill();
  ASSERT_TRUE(server_.start()) << server_.log();

  const json::object result = call("server.crash_report");
  const json::object& report = result.at("report").as_object();
  EXPECT_EQ(report.at("schema_version"), "crash_report.v1");
  EXPECT_EQ(number_of(report.at("last_durable_position")), last);
  EXPECT_EQ(number_of(report.at("incarnation")), 2U);
  std::map<std::string, json::object> items;
  for (const json::value& item : report.at("items").as_array()) {
    EXPECT_TRUE(items.emplace(std::string(item.at("name").as_string()), item.as_object()).second)
        << "a second verdict for " << item.at("name");
  }
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items.at(claimed + "/work").at("verdict"), "poll");
  EXPECT_EQ(items.at(claimed + "/work").at("kind"), "claim");
  EXPECT_TRUE(items.at(claimed + "/work").contains("goal"));  // O6
  EXPECT_EQ(items.at(going + "-work-1").at("verdict"), "poll");
  EXPECT_EQ(items.at(going + "-work-1").at("kind"), "job");
  EXPECT_TRUE(std::filesystem::exists(std::string(result.at("path").as_string())));

  const json::array finished = events("RecoveryFinished");
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(number_of(finished[0].at("position")), number_of(result.at("recovered_at")));
  EXPECT_EQ(number_of(finished[0].at("data").at("items_total")), 2U);
  // Recovery finished before anything was served: its record directly follows the start's.
  EXPECT_EQ(number_of(finished[0].at("position")), last + 2);

  call("run.cancel", {{"run_id", going}});
  EXPECT_TRUE(eventually([this] { return events("CancelConfirmed").size() == 1; }));
}

TEST_F(CrashReport, ACleanStopHasNone) {  // T8
  ASSERT_TRUE(server_.start()) << server_.log();
  claim(start_run({{"executor", "worker"}}), 60'000);
  server_.stop();
  ASSERT_TRUE(server_.start()) << server_.log();
  EXPECT_TRUE(call("server.crash_report").at("report").is_null());
  EXPECT_TRUE(events("RecoveryFinished").empty());
  EXPECT_EQ(events("ServerStarted").back().at("data").at("previous"), "clean");
}

TEST_F(CrashReport, AStoppedServerMakesNobodyPayForIt) {
  ASSERT_TRUE(server_.start()) << server_.log();
  const json::object held = claim(start_run({{"executor", "worker"}}), 5000);
  ASSERT_EQ(kill(server_.pid(), SIGSTOP), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(7500));
  ASSERT_EQ(kill(server_.pid(), SIGCONT), 0);
  json::object beat;
  for (const char* field : {"run_id", "station", "token"}) beat[field] = held.at(field);
  EXPECT_EQ(refusal("station.heartbeat", beat), "") << "its lease ended while we were stopped";
  const json::array jumps = events("ClockJumped");
  ASSERT_GE(jumps.size(), 1U);
  EXPECT_EQ(jumps[0].at("data").at("cause"), "stopped");
  EXPECT_TRUE(events("StationAttemptFailed").empty());
}

// Sets the wall clock of the server only, through libfaketime.
class ClockSet : public CrashReport {
 protected:
  // Returns the jumps of the wall clock; on a busy machine the process may be stopped as well.
  json::array jumps_of_clock() {
    json::array found;
    for (const json::value& event : events("ClockJumped")) {
      if (event.at("data").at("cause") == "wall clock set") found.push_back(event);
    }
    return found;
  }
  const FakeWallClock wall_clock_{scratch_.path()};
};

TEST_F(ClockSet, ExpiresNoLeaseAndIsTold) {
  ASSERT_TRUE(wall_clock_.available()) << "libfaketime is missing: tools/packages faketime";
  wall_clock_.over([this] { server_.launch(); });
  ASSERT_TRUE(server_.wait_until_ready()) << server_.log();
  const json::object held = claim(start_run({{"executor", "worker"}}), 20'000 * slowness);
  json::object beat;
  for (const char* field : {"run_id", "station", "token"}) beat[field] = held.at(field);

  std::size_t jumps = 0;
  for (const char* offset : {"+1h", "-2h", "+0s"}) {
    wall_clock_.set(offset);
    ++jumps;
    ASSERT_TRUE(eventually([&] { return jumps_of_clock().size() >= jumps; })) << offset;
    EXPECT_EQ(refusal("station.heartbeat", beat), "") << offset;
  }
  const json::array recorded = jumps_of_clock();
  ASSERT_GE(recorded.size(), 3U);
  const auto hours = [&](std::size_t index) {
    return recorded[index].at("data").at("wall_ms").to_number<double>() / 3'600'000.0;
  };
  EXPECT_NEAR(hours(0), 1.0, 0.05);
  EXPECT_NEAR(hours(1), -3.0, 0.05);
  EXPECT_NEAR(hours(2), 2.0, 0.05);
  EXPECT_TRUE(events("StationAttemptFailed").empty());
  EXPECT_TRUE(events("WatchdogTimedOut").empty());
}

}  // namespace
}  // namespace signalbox::test
