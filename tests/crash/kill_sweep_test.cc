// The real server, killed at random moments under load: every acknowledged command is in the log,
// once; nothing is there that wasn't sent; and the state equals the one evolved from the log.
//
//   tests/crash/sweep --kills 500 --seed 7, or
//   SIGNALBOX_KILLS=500 SIGNALBOX_SEED=7 SIGNALBOX_WORKERS=32 test_crash
//   --gtest_filter='KillSweep.*'
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include <boost/json/parse.hpp>

#include "tests/crash/offline_fold.h"
#include "tests/crash/server_process.h"
#include "tests/crash/sweep.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t workers_default = 32;
constexpr std::size_t kills_default = 50;
// Unless the number of kills is given, no more are begun after this time, but always the fewest.
constexpr std::chrono::seconds time_max_default{10};
constexpr std::size_t kills_min = 10;

std::size_t running_runs(Connection& connection) {
  std::size_t running = 0;
  for (const char* status : {"queued", "running"}) {
    const json::object page =
        result_of(connection.call("run.list", {{"status", status}, {"limit", 500}}));
    for (const json::value& run : page.at("runs").as_array()) {
      running += run.at("pipeline").as_string() == "counted" ? 1 : 0;
    }
  }
  return running;
}

// Each line of the file is one execution of a job: no line may occur twice, and each job in the log
// must have one.
void check_executions(const std::filesystem::path& count_file, const std::set<std::string>& jobs) {
  std::map<std::string, int> executions;
  std::ifstream file(count_file);
  for (std::string line; std::getline(file, line);) ++executions[line];
  for (const auto& [job, times] : executions) {
    EXPECT_EQ(times, 1) << "job " << job;
    EXPECT_TRUE(jobs.contains(job)) << "job " << job << " was executed without an intent";
  }
  EXPECT_EQ(executions.size(), jobs.size());
}

TEST(KillSweep, AcknowledgedIsRecoveredAndNothingIsDoneTwice) {  // P1, P2, P3, P6, T9, S6
  const std::uint64_t seed = random_seed();
  const auto kills_wanted = number_from_environment("SIGNALBOX_KILLS");
  const std::size_t kills = kills_wanted.value_or(kills_default);
  std::cout << "again with: SIGNALBOX_SEED=" << seed << " SIGNALBOX_KILLS=" << kills
            << " test_crash --gtest_filter='KillSweep.*'" << std::endl;

  const TemporaryDirectory scratch;
  const auto count_file = scratch.path() / "executions";
  ServerProcess server(scratch.path() / "data", {"--snapshot-events", "20000"});
  SweepRecord record;
  SweepOracle oracle(record);
  OfflineFold fold(server.data());
  std::mt19937_64 random(seed);
  const auto pick = [&random](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  ASSERT_TRUE(server.start()) << server.log();
  const std::size_t workers_count =
      number_from_environment("SIGNALBOX_WORKERS").value_or(workers_default);
  SweepWorkers workers(workers_count, seed, {server.socket(), count_file, 6}, record);

  const auto began = Clock::now();
  std::size_t killed = 0;
  for (; killed < kills && !::testing::Test::HasFailure(); ++killed) {
    const bool enough = killed >= kills_min && Clock::now() - began > time_max_default;
    if (!kills_wanted && enough) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(pick(0, 250)));
    server.kill();
    if (pick(0, 9) == 0) {  // kill it again while it recovers
      server.launch();
      std::this_thread::sleep_for(std::chrono::milliseconds(pick(0, 60)));
      server.kill();
    }
    ASSERT_TRUE(server.start()) << server.log();
    auto connection = Connection::open(server.socket());
    ASSERT_TRUE(connection);
    ASSERT_TRUE(oracle.check(*connection)) << server.log();
    fold.check_digest(*connection);
  }

  workers.finish();
  auto connection = Connection::open(server.socket());
  ASSERT_TRUE(connection);
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (running_runs(*connection) > 0 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(running_runs(*connection), 0U) << "a run with jobs doesn't end";
  ASSERT_TRUE(oracle.check(*connection));
  fold.check_digest(*connection);

  // Check everything once more from the first event, with a new oracle.
  SweepOracle again(record);
  ASSERT_TRUE(again.check(*connection));
  EXPECT_GE(again.position(), oracle.position());  // a lease may expire in between
  EXPECT_EQ(again.answers_checked(), record.sent_count());
  check_executions(count_file, again.jobs());

  const json::object status = result_of(connection->call("server.status", {}));
  EXPECT_EQ(server.stop().exit_code, 0) << server.log();
  const ProcessOutput replay =
      run_program({SIGNALBOX_BINARY, "replay", "--data", server.data().string(), "--to",
                   std::to_string(number_of(status.at("position"))), "--json"});
  json::error_code error;
  const json::value replayed = json::parse(replay.text, error);
  ASSERT_FALSE(error) << replay.text;
  EXPECT_EQ(replayed.at("result").at("state_digest"), status.at("state_digest"));

  std::cout << killed << " kills, " << again.lives() << " lives, " << record.sent_count()
            << " commands, " << record.repeated_count() << " sent again, " << again.position()
            << " events, " << again.runs_succeeded() << " runs succeeded, " << again.jobs().size()
            << " jobs" << std::endl;
  EXPECT_GE(killed, kills_wanted.value_or(kills_min));
  EXPECT_GT(record.repeated_count(), 0U) << "no command was ever cut off: the sweep proves little";
}

}  // namespace
}  // namespace signalbox::test
