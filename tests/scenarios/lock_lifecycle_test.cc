// Locks over the real socket: with the command line, across restarts, and with holders that are
// stopped.
#include <csignal>
#include <map>
#include <thread>

#include "server/text/time_text.h"
#include "tests/crash/connection.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string code_in(const Output& output) {
  const auto value = json::parse(output.out);
  return std::string(value.at("error").at("data").at("code").as_string());
}

TEST_F(LockCliTest, TheCommandLineTakesShowsRefreshesAndGivesBack) {  // L1, L2, L5, L6
  const auto granted =
      result({"lock", "acquire", "deploy", "--owner", "ann", "--reason", "release 1.4"});
  const std::string token = token_of(granted);
  EXPECT_EQ(text(granted, "owner"), "ann");
  const Output get = server_.cli({"lock", "get", "deploy"});
  for (const char* expected : {"held", "ann", "release 1.4", "lease until"}) {
    EXPECT_NE(get.out.find(expected), std::string::npos) << get.out;
  }
  const Output list = server_.cli({"lock", "list"});
  EXPECT_NE(list.out.find("deploy  held    ann"), std::string::npos) << list.out;

  const Output refused = server_.cli({"lock", "acquire", "deploy", "--owner", "bob", "--json"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(code_in(refused), "LOCK_HELD");
  EXPECT_EQ(server_.cli({"lock", "refresh", "deploy", "--token", "4711"}).exit_code, 1);
  EXPECT_TRUE(
      server_.cli({"lock", "refresh", "deploy", "--token", token}).out.starts_with("lease until "));
  EXPECT_EQ(server_.cli({"lock", "release", "deploy", "--token", token}).out, "released\n");
  EXPECT_EQ(server_.cli({"lock", "release", "deploy"}, {"SIGNALBOX_TOKEN=" + token}).out,
            "already released\n");
  EXPECT_NE(server_.cli({"lock", "get", "deploy"}).out.find("free"), std::string::npos);
  EXPECT_EQ(server_.cli({"lock", "list"}).out,
            "no locks; `signalbox lock exec` holds one for a command\n");
}

TEST_F(LockCliTest, WithoutAnOwnerItIsTheCallerWhoTakesIt) {
  // Two callers are two owners, even if one user runs both.
  const std::string take =
      SIGNALBOX_BINARY " lock acquire deploy --data '" + server_.data().string() + "' && true";
  const Output first = run_process({"sh", "-c", take + " && " + take});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("it was held already"), std::string::npos) << first.out;
  EXPECT_EQ(run_process({"sh", "-c", take}).exit_code, 1);
}

// Returns how each bar of the lock "deploy" ended and whose it was, the earliest first.
std::vector<std::string> bars_of_deploy(const json::object& timeline) {
  std::map<Token, std::string> bars;
  for (const json::value& row : timeline.at("rows").as_array()) {
    if (row.at("name") != "deploy") continue;
    for (const json::value& bar : row.at("bars").as_array()) {
      bars[bar.at("token").to_number<Token>()] =
          std::string(bar.at("owner").as_string()) + " " + bar.at("status").as_string().c_str();
    }
  }
  std::vector<std::string> found;
  for (const auto& [token, bar] : bars) found.push_back(bar);
  return found;
}

TEST_F(LockCliTest, TheTimelineShowsWhoHeldItWhenAlsoAfterAKill) {  // L10
  using Bars = std::vector<std::string>;
  const auto bars = [this](json::object params = {}) {
    params["group"] = "lock";
    params["from"] = "1h";
    return bars_of_deploy(rpc("timeline.get", params));
  };
  ASSERT_EQ(exec({"--owner", "ann"}, {"sleep", "0.1"}).exit_code, 0);
  // A holder that is killed can't give the lock back.
  const auto holder =
      start_exec("bob", {"--owner", "bob", "--lease-ms", std::to_string(short_lease_ms)},
                 {"sh", "-c", "echo $$ > '" + path_of("pid") + "'; exec sleep 60"});
  const pid_t command = pid_in("pid");
  EXPECT_EQ(bars(), (Bars{"ann released", "bob held"}));
  const auto held_at = rpc("lock.get", {{"key", "deploy"}}).at("position");
  holder->send(SIGKILL);
  ::kill(command, SIGKILL);
  rpc("lock.acquire",
      {{"key", "deploy"}, {"owner", "cat"}, {"lease_ms", 600'000}, {"wait_ms", 60'000}});
  const Bars expected{"ann released", "bob expired", "cat held"};
  EXPECT_EQ(bars(), expected);
  server_.kill();
  server_.start();
  EXPECT_EQ(bars(), expected);
  EXPECT_EQ(bars({{"at", held_at}}), (Bars{"ann released", "bob held"}));
  const Output drawn = server_.cli({"timeline", "--from", "1h", "--group", "lock"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  for (const char* part : {"holds", "deploy", "ann, bob, cat"}) {
    EXPECT_NE(drawn.out.find(part), std::string::npos) << part << "\n" << drawn.out;
  }
}

TEST_F(LockCliTest, LocksSurviveAKillAndTheirLeaseBeginsAnew) {
  const auto granted = result({"lock", "acquire", "deploy", "--owner", "ann", "--lease-ms",
                               std::to_string(4 * short_lease_ms)});
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * short_lease_ms));
  server_.kill();
  server_.start();
  const auto lock = result({"lock", "get", "deploy"}).at("lock").as_object();
  EXPECT_EQ(lock.at("token"), granted.at("token"));
  EXPECT_EQ(lock.at("status"), "held");
  const Output taken =
      server_.cli({"lock", "acquire", "deploy", "--owner", "bob", "--wait-ms", "30000", "--json"});
  EXPECT_EQ(taken.exit_code, 0) << taken.out;
  // The lease begins anew at the restart: the rest of the old one would be half of it.
  const auto recorded_ns = [this](const char* type) {
    return parse_time(text(all_events(type).back().as_object(), "recorded_at")).value();
  };
  EXPECT_GT(recorded_ns("LockExpired") - recorded_ns("ServerStarted"),
            5 * short_lease_ms / 2 * 1'000'000);
  EXPECT_EQ(events_of_lock(),
            (std::vector<std::string>{"LockAcquired", "LockExpired", "LockAcquired"}));
  EXPECT_EQ(server_.cli({"lock", "refresh", "deploy", "--token", token_of(granted)}).exit_code, 1);
}

TEST_F(LockCliTest, OfTwoTakersOfAnExpiredLockExactlyOneWins) {  // L9
  for (int round = 0; round < 5; ++round) {
    const std::string key = "round-" + std::to_string(round);
    result({"lock", "acquire", key, "--owner", "ann", "--lease-ms", "50"});
    ASSERT_TRUE(eventually([&] { return holder(key).empty(); }));
    std::vector<std::unique_ptr<BackgroundCommand>> takers;
    for (const char* owner : {"bob", "eve", "max"}) {
      takers.push_back(std::make_unique<BackgroundCommand>(
          std::vector<std::string>{SIGNALBOX_BINARY, "lock", "acquire", key, "--owner", owner,
                                   "--data", server_.data().string()},
          scratch_.path() / (key + owner)));
    }
    int winners = 0;
    for (const auto& taker : takers) winners += taker->wait() == 0 ? 1 : 0;
    EXPECT_EQ(winners, 1);
  }
}

TEST_F(LockCliTest, AHolderThatWasStoppedPastItsLeaseIsRefused) {  // L9
  const auto running = start_exec(
      "exec", {"--json", "--owner", "sleepy", "--lease-ms", std::to_string(short_lease_ms)},
      {"sleep", "600"});
  ASSERT_TRUE(eventually([this] { return holder() == "sleepy"; }));
  running->send(SIGSTOP);
  ASSERT_TRUE(eventually([this] { return holder().empty(); }));
  const auto taken = result({"lock", "acquire", "deploy", "--owner", "bob"});
  running->send(SIGCONT);
  EXPECT_EQ(running->wait(), 75);
  const auto reported = failures(running->err());
  ASSERT_EQ(reported.size(), 1U) << running->err();
  EXPECT_EQ(reported[0].at("code"), "LOCK_NOT_OWNED");
  EXPECT_EQ(reported[0].at("details").at("owner"), "sleepy");
  EXPECT_EQ(reported[0].at("details").at("current_owner"), "bob");
  EXPECT_EQ(reported[0].at("details").at("current_token"), taken.at("token"));
  EXPECT_EQ(holder(), "bob") << "the late one changed nothing";
}

TEST_F(LockCliTest, AStationThatLosesItsLockFailsAndIsStaleFromThenOn) {  // L8
  const std::string run = start_run("under a lock");
  const auto granted =
      result({"lock", "acquire", "deploy", "--owner", "w", "--lease-ms", "600000"});
  const auto claim =
      result({"rpc", "station.claim",
              R"({"worker":"w","run_id":")" + run + R"(","lock_token":)" + token_of(granted) + "}"})
          .at("claim")
          .as_object();
  rpc("lock.refresh",
      {{"key", "deploy"}, {"token", granted.at("token")}, {"lease_ms", short_lease_ms}});
  const std::string token = token_of(claim);
  const auto attempt = [&] {
    return rpc("run.get", {{"run_id", run}}).at("run").at("stations").at(0).at("attempts").at(0);
  };
  ASSERT_TRUE(eventually([&] { return attempt().at("status") != "running"; }));
  EXPECT_EQ(attempt().at("error").at("code"), "LOCK_LOST");
  const Output late = server_.cli({"station", "complete", "--run", run, "--station", "plan",
                                   "--token", token, "--outcome", "succeeded", "--json"});
  EXPECT_EQ(late.exit_code, 1);
  // The attempt is over, or the next one is under way: its token is refused in both cases.
  EXPECT_TRUE(code_in(late) == "STALE_TOKEN" || code_in(late) == "STATION_NOT_CLAIMED") << late.out;
  const Output again = server_.cli(
      {"rpc", "station.claim",
       R"({"worker":"w","run_id":")" + run + R"(","lock_token":)" + token_of(granted) + "}",
       "--json"});
  EXPECT_EQ(code_in(again), "LOCK_LOST");
}

TEST_F(LockCliTest, GarbageInTheRunRootMakesWay) {  // L4
  const auto lock_file = scratch_.path() / ".lock";
  const std::vector<std::string> words = {
      "lock", "acquire", "deploy", "--owner", "ann", "--run-root", scratch_.path().string()};
  std::ofstream(lock_file) << "{\n";
  const auto granted = result(words);
  EXPECT_EQ(events_of_lock(), (std::vector<std::string>{"LockFileReplaced", "LockAcquired"}));
  const auto mirror = json::parse(content_of(lock_file));
  EXPECT_EQ(mirror.at("owner"), "ann");
  EXPECT_EQ(mirror.at("token"), granted.at("token"));
  EXPECT_EQ(mirror.at("expires_at"), granted.at("expires_at"));
  result({"lock", "release", "deploy", "--token", token_of(granted)});
  EXPECT_FALSE(std::filesystem::exists(lock_file));
  std::ofstream(lock_file) << R"({"owner":"cron","expires_at":"2099-01-01T00:00:00Z"})";
  auto again = words;
  again.emplace_back("--json");
  const Output refused = server_.cli(again);
  EXPECT_EQ(code_in(refused), "LOCK_HELD");
  EXPECT_NE(refused.out.find("cron"), std::string::npos) << refused.out;
}

TEST_F(LockCliTest, TenThousandLocksAreListedQuickly) {
  // The requests are pipelined over one connection.
  auto connection = test::Connection::open(server_.socket());
  ASSERT_TRUE(connection);
  constexpr int locks = 10'000;
  std::thread sender([&connection] {
    for (int number = 0; number < locks; ++number) {
      EXPECT_TRUE(connection->send(test::request_line(
          number, "lock.acquire",
          {{"key", "lock-" + std::to_string(100'000 + number)}, {"owner", "o"}})));
    }
  });
  int answers = 0;
  while (answers < locks && connection->line()) ++answers;
  sender.join();
  ASSERT_EQ(answers, locks);
  const auto started = std::chrono::steady_clock::now();
  const auto all = result({"lock", "list", "--all", "--limit", "1000"});
  const auto took = std::chrono::steady_clock::now() - started;
  ASSERT_EQ(all.at("locks").as_array().size(), static_cast<std::size_t>(locks));
  EXPECT_EQ(all.at("locks").at(locks - 1).at("key"), "lock-109999");
  EXPECT_LT(took, test::slowness * std::chrono::seconds(5)) << "all of 10 pages";
  RecordProperty("list_ms", static_cast<int>(took / std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace signalbox
