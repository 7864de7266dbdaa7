// Clients that hold connections, half lines, unread answers and slow headers, as many as they can
// get.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "server/limits.h"
#include "tests/crash/hostile_connections.h"
#include "tests/eventually.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

TEST_F(HostileConnections, FourThousandStrangersLockNobodyOut) {  // G5
  for (int number = 0; number < 4096; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send("{");
  }
  EXPECT_TRUE(everybody_is_served());
  EXPECT_GT(metric("signalbox_connections_dropped_total{reason=\"evicted\"}"), 0);
  EXPECT_LE(metric("signalbox_connections{caller=\"stranger\"}"),
            static_cast<double>(newcomers_max));
  expect_bounded_memory();
  EXPECT_TRUE(server_.logs("connections refused or closed: 1 evicted"));
}

TEST_F(HostileConnections, TheirOwnUserLocksNobodyOut) {  // G5
  std::vector<Connection> own;
  for (int number = 0; number < 4096; ++number) {
    auto connection = Connection::open(server_.socket());
    ASSERT_TRUE(connection);
    connection->send("{");
    own.push_back(std::move(*connection));
  }
  EXPECT_TRUE(everybody_is_served());
  expect_bounded_memory();
}

TEST_F(HostileConnections, HalfLinesTakeBoundedMemory) {  // G5
  const std::string half = "{" + std::string(line_bytes_max - 2, ' ');
  for (int number = 0; number < 300; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(half);
  }
  EXPECT_TRUE(everybody_is_served());
  expect_bounded_memory();
  // The same with a token: it has a larger share, and no other caller's.
  const std::string secret = issue("hostile", "viewer");
  for (int number = 0; number < 300; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(authentication(secret));
    hostile_.back().line();
    hostile_.back().send(half);
  }
  EXPECT_TRUE(everybody_is_served());
  expect_bounded_memory();
  EXPECT_GT(metric("signalbox_connections_dropped_total{reason=\"buffered\"}"), 0);
}

TEST_F(HostileConnections, UnreadAnswersTakeBoundedMemory) {  // G5
  auto filling = Connection::open(server_.socket());
  ASSERT_TRUE(filling);
  const json::object pipeline{{"name", "p"}, {"station", {{{"name", "only"}}}}};
  // Each control character takes six bytes in an answer.
  std::string lines;
  for (int number = 0; number < 500; ++number) {
    lines +=
        request_line(1, "run.start", {{"goal", std::string(4000, '\x01')}, {"pipeline", pipeline}});
  }
  ASSERT_TRUE(filling->send(lines));
  for (int number = 0; number < 500; ++number) ASSERT_TRUE(filling->message());
  const std::uint64_t before = server_.resident_bytes();
  idle_bytes_ = before;
  std::string requests;
  for (int number = 0; number < 8; ++number) {
    requests += request_line(number, "events.read", {{"limit", 1000}});
  }
  const std::string secret = issue("hostile", "viewer");
  for (int number = 0; number < 40; ++number) {
    hostile_.emplace_back(port_, 4096);
    hostile_.back().send(authentication(secret));
    hostile_.back().line();
    hostile_.back().send(requests);
  }
  // The answers are produced one after the other: wait until memory stops growing.
  std::uint64_t most = before;
  for (std::uint64_t grown = 1; grown > memory_mib;) {
    const std::uint64_t most_before = most;
    for (int number = 0; number < 20; ++number) {
      ASSERT_TRUE(everybody_is_served());
      most = std::max(most, server_.resident_bytes());
    }
    grown = most - most_before;
  }
  expect_bounded_memory();
  // Who reads gets the answers of what was asked; with the same token it would have to share the
  // bounds of those who don't.
  RawConnection reading(port_);
  reading.send(authentication(issue("reader", "viewer")));
  reading.line();
  reading.send(requests);
  for (int number = 0; number < 8; ++number) {
    const std::string answer = reading.line();
    EXPECT_NE(answer.find("\"events\""), std::string::npos) << answer.substr(0, 100);
  }
}

TEST_F(HostileConnections, SlowHeadersAreCutOff) {  // G5
  for (int number = 0; number < 300; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  }
  std::size_t sent = 0;
  const bool all_closed = eventually([&] {
    for (RawConnection& each : hostile_) each.send("X");  // a byte now and then
    ++sent;
    return std::all_of(hostile_.begin(), hostile_.end(),
                       [](RawConnection& each) { return each.is_closed(); });
  });
  EXPECT_TRUE(all_closed);
  EXPECT_GT(sent, 1U);
  EXPECT_TRUE(everybody_is_served());
}

// The server sends nothing to such a subscriber, so no failed write says that nobody reads.
TEST_F(HostileConnections, SubscribersWhoClosedTheirConnectionsKeepNoPlace) {  // G5
  const std::string secret = issue("comes and goes", "viewer");
  for (std::size_t number = 0; number <= 2 * caller_subscriptions_max; ++number) {
    RawConnection closed(port_);
    closed.send(authentication(secret));
    closed.line();
    closed.send(request_line(2, "events.subscribe", {{"types", {"AuditKeyAdopted"}}}));
    const std::string answer = closed.line();
    ASSERT_NE(answer.find("\"result\""), std::string::npos) << number << ": " << answer;
  }
  EXPECT_TRUE(everybody_is_served());
}

// Whoever has too many subscriptions loses what it has left behind, and nobody else does.
TEST_F(HostileConnections, ASubscriberWhoOnlyReadsKeepsItsPlaceFromOthers) {  // G5
  const auto subscribe = [](RawConnection& connection) {
    connection.send(request_line(2, "events.subscribe", {{"types", {"AuditKeyAdopted"}}}));
    return connection.line();
  };
  RawConnection reading(port_);
  reading.send(authentication(issue("only reads", "viewer")));
  reading.line();
  ASSERT_NE(subscribe(reading).find("\"result\""), std::string::npos);
  reading.end_output();
  RawConnection greedy(port_);
  greedy.send(authentication(issue("has too many", "viewer")));
  greedy.line();
  for (std::size_t number = 0; number < caller_subscriptions_max; ++number) {
    ASSERT_NE(subscribe(greedy).find("\"result\""), std::string::npos) << number;
  }
  EXPECT_NE(subscribe(greedy).find("OVERLOADED"), std::string::npos);
  EXPECT_FALSE(reading.is_closed());
}

// Returns true if the kernel will probe the open connections at a local port, of which there are
// some (proc(5): `tr` is 2).
bool are_probed(std::uint16_t port) {
  std::ifstream file("/proc/net/tcp");
  std::string line;
  std::getline(file, line);  // the headings
  bool any = false;
  while (std::getline(file, line)) {
    unsigned local_port = 0;
    unsigned state = 0;
    unsigned timer = 0;
    const int found = std::sscanf(line.c_str(), " %*u: %*8x:%4x %*8x:%*4x %2x %*8x:%*8x %2x",
                                  &local_port, &state, &timer);
    constexpr unsigned established = 1;
    constexpr unsigned keepalive = 2;
    if (found != 3 || local_port != port || state != established) continue;
    if (timer != keepalive) return false;
    any = true;
  }
  return any;
}

TEST_F(HostileConnections, AClientThatVanishesIsNoticed) {  // G5
  RawConnection silent(port_);
  silent.send(authentication(secret_));
  silent.line();
  EXPECT_TRUE(eventually([&] { return are_probed(port_); }))
      << "nothing would say that its machine has gone";
}

// They are fewer than newcomers_max, so that none is closed to make room.
TEST_F(HostileConnections, SilentOnesAreClosed) {  // G5
  const auto began = std::chrono::steady_clock::now();
  for (int number = 0; number < 200; ++number) hostile_.emplace_back(port_);
  EXPECT_TRUE(everybody_is_served());
  EXPECT_TRUE(are_all_closed());
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, std::chrono::milliseconds(first_byte_ms_max)) << "that is too early";
  EXPECT_LT(waited,
            std::chrono::milliseconds(first_byte_ms_max) + slowness * std::chrono::seconds(20));
  EXPECT_TRUE(everybody_is_served());
}

// A client with a short timeout does that, too: it asks again, and reads no answer.
TEST_F(HostileConnections, QuestionsThatNobodyWaitsForHoldUpNoOtherCaller) {  // G7
  constexpr std::size_t runs = 3000;
  constexpr std::size_t connections = 250;
  auto own = Connection::open(server_.socket());
  ASSERT_TRUE(own);
  const json::object pipeline{{"name", "p"}, {"station", {{{"name", "only"}}}}};
  const std::string start = request_line(1, "run.start", {{"goal", "g"}, {"pipeline", pipeline}});
  std::string run_id;
  for (std::size_t started = 0; started < runs; started += 100) {
    std::string lines;
    for (int each = 0; each < 100; ++each) lines += start;
    ASSERT_TRUE(own->send(lines));
    for (int each = 0; each < 100; ++each) {
      const auto answer = own->message();
      ASSERT_TRUE(answer);
      run_id = answer->at("result").at("run_id").as_string();
    }
  }
  const auto time_of = [&](const std::string& line) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(own->send(line) && own->message());
    return std::chrono::steady_clock::now() - began;
  };
  const std::string get = request_line(2, "run.get", {{"run_id", run_id}});
  const std::string list = request_line(3, "run.list", {{"text", "no run"}, {"totals", true}});
  (void)time_of(get);  // until the rows are there
  const auto one = std::min({time_of(list), time_of(list), time_of(list)});

  const std::string secret = issue("impatient", "viewer");
  std::string asked = authentication(secret);
  for (std::size_t each = 0; each < queries_in_flight_max; ++each) asked += list;
  for (std::size_t each = 0; each < connections; ++each) {
    RawConnection impatient(port_);
    impatient.send(asked);
    EXPECT_NE(impatient.line().find("\"result\""), std::string::npos);
  }
  // All of them together would take as long as each of them.
  EXPECT_LT(time_of(get), one * (connections * queries_in_flight_max / 4));
}

}  // namespace
}  // namespace signalbox::test
