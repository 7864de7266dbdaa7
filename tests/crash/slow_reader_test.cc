// Clients that send requests or subscribe and never read, or that disconnect without notice: the
// server's memory stays bounded, and other clients aren't affected.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

class SlowReader : public ServerTest {
 protected:
  void SetUp() override {
    // A tick of the board would be among the positions that are counted.
    std::filesystem::create_directories(server_.data());
    write_text(server_.data() / "signalbox.toml",
               "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n");
    ASSERT_TRUE(server_.start()) << server_.log();
  }
  void TearDown() override { EXPECT_EQ(server_.stop().exit_code, 0) << server_.log(); }

  Connection connect() {
    auto connection = Connection::open(server_.socket());
    EXPECT_TRUE(connection);
    return std::move(*connection);
  }

  // Starts `count` runs, many at a time, and returns the `position` of the last answer.
  // `started` is called with the size of each batch, once it is durable.
  std::uint64_t start_runs(
      std::size_t count, const std::string& goal,
      const std::function<void(std::size_t)>& started = [](std::size_t) {}) {
    auto connection = connect();
    std::uint64_t position = 0;
    const json::object pipeline{{"name", "p"}, {"station", {{{"name", "only"}}}}};
    for (std::size_t done = 0; done < count;) {
      const std::size_t batch = std::min<std::size_t>(100, count - done);
      std::string lines;
      for (std::size_t number = 0; number < batch; ++number) {
        lines += request_line(1, "run.start", {{"goal", goal}, {"pipeline", pipeline}});
      }
      EXPECT_TRUE(connection.send(lines));
      for (std::size_t number = 0; number < batch; ++number) {
        const auto answer = connection.message();
        if (!answer) {
          ADD_FAILURE() << server_.log();
          return position;
        }
        position = number_of(result_of(answer).at("position"));
      }
      done += batch;
      started(batch);
    }
    return position;
  }

  // Returns the time that one command takes on a new connection: the median of many.
  std::chrono::microseconds command_time() {
    auto connection = connect();
    std::vector<std::chrono::microseconds> times;
    for (int count = 0; count < 51; ++count) {
      const auto began = Clock::now();
      EXPECT_TRUE(connection.call("run.start", {{"goal", "how long does it take"}}));
      times.push_back(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began));
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  // Waits until the field of `server.status` has this value.
  bool status_becomes(const char* field, std::uint64_t value) {
    auto connection = connect();
    return eventually([&] {
      return number_of(result_of(connection.call("server.status", {})).at(field)) == value;
    });
  }

  // Sends lines as long as the server accepts them, and reads nothing.
  static std::size_t send_and_never_read(Connection& connection, const std::string& line,
                                         std::size_t count) {
    std::string batch;
    for (std::size_t number = 0; number < 100; ++number) batch += line;
    std::size_t sent = 0;
    while (sent < count && connection.send(batch, std::chrono::milliseconds(500))) sent += 100;
    return sent;
  }
};

TEST_F(SlowReader, WhoAsksAndNeverReads) {  // P8
  const std::uint64_t last = start_runs(2000, std::string(4000, 'g'));
  ASSERT_GE(last, 2000U);
  const std::string run_list = request_line(1, "run.list", {{"limit", 500}});
  const std::string all_events = request_line(1, "events.read", {{"limit", 1000}});
  const std::string no_events =
      request_line(1, "events.read", {{"limit", 1000}, {"types", {"ServerStopped"}}});
  const std::string limits = request_line(1, "server.limits", {});
  const auto quiet = command_time();
  const std::uint64_t before = server_.resident_bytes();
  for (const std::string& line : {limits, run_list, all_events, no_events}) {
    auto non_reader = connect();
    std::uint64_t most = 0;
    std::atomic<bool> done = false;
    std::thread asking([&] {
      send_and_never_read(non_reader, line, 100'000);
      done = true;
    });
    std::chrono::microseconds meanwhile{0};
    // The server still processes accepted lines after the last one was sent: wait until memory
    // stops growing.
    for (std::uint64_t grown = 1; !done || grown > mib;) {
      const std::uint64_t most_before = most;
      meanwhile = std::max(meanwhile, command_time());
      most = std::max(most, server_.resident_bytes());
      grown = most - most_before;
    }
    asking.join();
    std::cout << line.substr(0, 60) << "… meanwhile " << meanwhile.count() << " µs, resident "
              << most / mib << " MiB" << std::endl;
    // A median of 51 commands on shared cores reveals a stalled engine, but not a busy machine.
    EXPECT_LT(meanwhile, quiet * 20 + slowness * std::chrono::milliseconds(50)) << line;
    EXPECT_LT(most, before + 64 * memory_mib) << line;
  }
  std::cout << "before: " << quiet.count() << " µs, resident " << before / mib << " MiB"
            << std::endl;
}

TEST_F(SlowReader, WhoSubscribesAndNeverReadsIsLetGoAndTheOthersGetAll) {  // P8
  auto other = connect();
  const std::uint64_t tail =
      number_of(result_of(other.call("server.status", {})).at("durable_position"));
  auto non_reader = connect();
  ASSERT_TRUE(non_reader.call("events.subscribe", {{"from", 1}}));
  // Who has never had all events isn't let go for what came since, so it reads those that are
  // there.
  for (std::uint64_t position = 1; position <= tail; ++position) {
    const auto line = non_reader.line();
    ASSERT_TRUE(line &&
                line->find("\"position\":" + std::to_string(position) + ",") != std::string::npos);
  }
  const json::object subscribed = result_of(other.call("events.subscribe", {{"from", 1}}));
  ASSERT_EQ(number_of(subscribed.at("from")), 1U);
  const std::uint64_t before = server_.resident_bytes();

  constexpr std::size_t events = 200'000;
  // The other one reads all the time, but on a busy machine not as fast as events come: it would be
  // let go, too, if it were 1 MiB behind.
  constexpr std::size_t ahead_max = 600;
  std::atomic<std::size_t> recorded = 0;
  std::atomic<std::size_t> read = 0;
  std::atomic<bool> is_over = false;
  const auto keep_pace = [&](std::size_t batch) {
    recorded += batch;
    while (recorded > read + ahead_max && !is_over) std::this_thread::yield();
  };
  std::thread starting([&] {
    std::vector<std::thread> starters;
    for (int number = 0; number < 4; ++number) {
      starters.emplace_back([&] { start_runs(events / 4, "flow", keep_pace); });
    }
    for (std::thread& each : starters) each.join();
  });
  std::uint64_t expected = 1;
  std::string problem;
  while (expected <= events && problem.empty()) {
    // Compared as text: parsing two hundred thousand lines would take too long.
    const auto line = other.line();
    if (!line) {
      problem = "the connection ended";
    } else if (line->find("\"position\":" + std::to_string(expected) + ",") == std::string::npos) {
      problem = *line;
    } else {
      ++expected;
      ++read;
    }
  }
  is_over = true;
  starting.join();
  EXPECT_EQ(problem, "") << "instead of position " << expected;
  // Each open run takes about 1 KiB; the backlog of the subscriber that doesn't read must not add
  // to it.
  EXPECT_LT(server_.resident_bytes(), before + 64 * memory_mib + events * 2048);

  // The subscriber that didn't read finds a prefix without gaps, then `lagged` with the position to
  // continue from, or the end of the connection.
  std::uint64_t next = tail + 1;
  bool lagged = false;
  while (const auto line = non_reader.line(std::chrono::seconds(10))) {
    if (line->find("\"method\":\"lagged\"") != std::string::npos) {
      EXPECT_NE(line->find("\"from\":" + std::to_string(next)), std::string::npos) << *line;
      lagged = true;
      continue;
    }
    ASSERT_NE(line->find("\"position\":" + std::to_string(next) + ","), std::string::npos) << *line;
    ++next;
  }
  EXPECT_LT(next, events) << "it was kept";
  std::cout << "let go at " << next << (lagged ? ", told so" : ", closed") << std::endl;
}

TEST_F(SlowReader, ASubscriberWhoIsFarBehindDoesntStallTheOthers) {
  start_runs(100'000, "long history");
  const auto quiet = command_time();
  // Of a stalled engine each of them would be late, on a busy machine now and then one.
  auto least = Clock::duration::max();
  for (int number = 0; number < 5; ++number) {
    auto late = connect();
    ASSERT_TRUE(late.send(
        request_line(1, "events.subscribe", {{"from", 1}, {"types", {"ServerStopped"}}})));
    auto connection = connect();
    const auto began = Clock::now();
    ASSERT_TRUE(connection.call("run.start", {{"goal", "meanwhile"}}));
    least = std::min(least, Clock::now() - began);
  }
  EXPECT_LT(least, quiet * 20 + slowness * std::chrono::milliseconds(100));
}

TEST_F(SlowReader, SubscribersWhoAreGoneTakeNoPlace) {
  for (int number = 0; number < 1200; ++number) {
    auto disconnected = connect();
    ASSERT_TRUE(disconnected.call("events.subscribe", {{"types", {"ServerStopped"}}})) << number;
  }
  EXPECT_TRUE(status_becomes("subscriptions", 0));
}

TEST_F(SlowReader, AWorkerWhoIsGoneIsGivenNothing) {
  {
    auto disconnected = connect();
    ASSERT_TRUE(disconnected.send(
        request_line(1, "station.claim", {{"worker", "gone"}, {"wait_ms", 60'000}})));
    ASSERT_TRUE(status_becomes("waiting_claims", 1));
  }
  start_runs(1, "for the living");
  auto connection = connect();
  const json::object claimed =
      result_of(connection.call("station.claim", {{"worker", "here"}, {"wait_ms", 10'000}}));
  EXPECT_TRUE(claimed.at("claim").is_object()) << "the station was given to a worker who is gone";
}

TEST_F(SlowReader, OneCommandIdWaitsOnceHoweverOftenItIsAsked) {
  // The first claim still waits when the same command arrives on another connection.
  auto first = connect();
  auto second = connect();
  const json::object params{{"worker", "w"}, {"wait_ms", 20'000}, {"command_id", "claim-1"}};
  ASSERT_TRUE(first.send(request_line(1, "station.claim", params)));
  ASSERT_TRUE(second.send(request_line(1, "station.claim", params)));
  ASSERT_TRUE(status_becomes("waiting_claims", 2));
  start_runs(2, "two runs, one command");
  const auto one = result_of(first.message());
  const auto other = result_of(second.message());
  ASSERT_TRUE(one.at("claim").is_object());
  ASSERT_TRUE(other.at("claim").is_object());
  EXPECT_EQ(one.at("claim").at("token"), other.at("claim").at("token"));
  EXPECT_TRUE(status_becomes("ready_stations", 1));
}

}  // namespace
}  // namespace signalbox::test
