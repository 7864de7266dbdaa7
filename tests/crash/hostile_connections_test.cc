// Clients that hold connections, half lines, unread answers, slow headers and TLS handshakes, as
// many as they can get: the server's own user, /healthz and clients with a token are served
// meanwhile, and the server's memory stays bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "server/limits.h"
#include "tests/crash/raw_connection.h"
#include "tests/crash/server_test.h"
#include "tests/eventually.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

constexpr std::uint64_t growth_mib_max = 128;

class HostileConnections : public ServerTest {
 protected:
  explicit HostileConnections(std::vector<std::string> options = {"--listen", "127.0.0.1:0"})
      : ServerTest(std::move(options)) {}

  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << configuration();
    start();
    const std::string messages = server_.log();
    const auto at = messages.find("127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << messages;
    port_ = static_cast<std::uint16_t>(std::stoi(messages.substr(at + sizeof "127.0.0.1")));
    secret_ = issue("honest", "operator");
    ASSERT_TRUE(everybody_is_served());
    idle_bytes_ = server_.resident_bytes();
  }
  void TearDown() override {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
    EXPECT_LT(std::chrono::steady_clock::now() - began, slowness * std::chrono::seconds(10));
  }
  [[nodiscard]] virtual std::string configuration() const { return "loopback_role = \"none\"\n"; }

  std::string issue(const std::string& name, const char* role) const {
    return std::string(
        call("access.issue", {{"name", name}, {"role", role}}).at("secret").as_string());
  }
  [[nodiscard]] std::string authentication(const std::string& secret) const {
    return request_line(1, "server.authenticate", {{"secret", secret}});
  }
  // Expects that the server's own user, an honest client and who asks for its health get answers.
  [[nodiscard]] bool everybody_is_served() const {
    if (!answer_to("server.status")) {
      ADD_FAILURE() << "the server's own user got no answer";
      return false;
    }
    return is_healthy() && token_is_served();
  }
  [[nodiscard]] virtual bool is_healthy() const {
    RawConnection health(port_);
    health.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string status = health.line();
    EXPECT_EQ(status, "HTTP/1.1 200 OK\r");
    return status == "HTTP/1.1 200 OK\r";
  }
  [[nodiscard]] virtual bool token_is_served() const {
    RawConnection honest(port_);
    honest.send(authentication(secret_));
    std::string answer = honest.line();
    EXPECT_NE(answer.find("\"result\""), std::string::npos) << answer;
    honest.send(request_line(2, "lock.acquire", {{"key", "k"}, {"owner", "o"}}));
    answer = honest.line();
    EXPECT_NE(answer.find("\"result\""), std::string::npos) << answer;
    return answer.find("\"result\"") != std::string::npos;
  }
  [[nodiscard]] double metric(const std::string& name) const {
    const std::string text(call("server.metrics").at("text").as_string());
    const auto at = text.find("\n" + name + " ");
    if (at == std::string::npos) return -1;
    return std::stod(text.substr(at + name.size() + 2));
  }
  // Blocks until the server has closed each hostile connection. Returns false if it doesn't in
  // time.
  [[nodiscard]] bool are_all_closed() {
    return eventually([this] {
      return std::all_of(hostile_.begin(), hostile_.end(),
                         [](RawConnection& each) { return each.is_closed(); });
    });
  }
  // Expects the bound of the server's memory. A sanitizer keeps freed memory, so with one only the
  // bytes that the server counts are looked at.
  void expect_bounded_memory() const {
    EXPECT_LE(metric("signalbox_connection_buffered_bytes"),
              static_cast<double>(buffered_bytes_max));
#ifndef SIGNALBOX_SANITIZED
    EXPECT_LT(server_.resident_bytes(), idle_bytes_ + growth_mib_max * memory_mib);
#endif
  }

  std::uint16_t port_ = 0;
  std::string secret_;
  std::uint64_t idle_bytes_ = 0;
  std::vector<RawConnection> hostile_;
};

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
  EXPECT_NE(server_.log().find("connections refused or closed: 1 evicted"), std::string::npos);
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

class HostileHandshakes : public HostileConnections {
 protected:
  [[nodiscard]] std::string configuration() const override {
    const std::string key = (scratch_.path() / "key.pem").string();
    const std::string certificate = (scratch_.path() / "certificate.pem").string();
    const auto made =
        run_program({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                     "-subj", "/CN=localhost", "-keyout", key, "-out", certificate});
    EXPECT_EQ(made.end.exit_code, 0) << made.text;
    std::filesystem::permissions(key, std::filesystem::perms::owner_read);
    return "loopback_role = \"none\"\ntls_certificate = \"" + certificate + "\"\ntls_key = \"" +
           key + "\"\n";
  }
  [[nodiscard]] bool is_healthy() const override { return is_answered("/healthz", {}); }
  [[nodiscard]] bool token_is_served() const override {
    return is_answered("/v1/runs", {"--header", "Authorization: Bearer " + secret_});
  }
  [[nodiscard]] bool is_answered(const std::string& path, std::vector<std::string> more) const {
    std::vector<std::string> command{
        "curl",         "--silent",
        "--show-error", "--fail",
        "--insecure",   "--output",
        "/dev/null",    "https://127.0.0.1:" + std::to_string(port_) + path};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessOutput curl = run_program(command);
    EXPECT_EQ(curl.end.exit_code, 0) << curl.text;
    return curl.end.exit_code == 0;
  }
};

TEST_F(HostileHandshakes, UnfinishedOnesKeepNobodyOut) {  // G5
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01", 8);
  for (int number = 0; number < 1000; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(beginning);
  }
  EXPECT_TRUE(everybody_is_served());
  EXPECT_LE(metric("signalbox_connections{caller=\"stranger\"}"),
            static_cast<double>(tls_newcomers_max));
  expect_bounded_memory();
}

TEST_F(HostileHandshakes, UnfinishedOnesAreCutOff) {  // G5
  static_assert(tls_handshake_ms_max <= first_byte_ms_max, "that other bound would come first");
  const std::string beginning("\x16\x03\x01\x02\x00\x01\x00\x01", 8);
  const auto began = std::chrono::steady_clock::now();
  for (int number = 0; number < 50; ++number) {
    hostile_.emplace_back(port_);
    hostile_.back().send(beginning);
  }
  EXPECT_TRUE(are_all_closed());
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, std::chrono::milliseconds(tls_handshake_ms_max)) << "that is too early";
  EXPECT_LT(waited,
            std::chrono::milliseconds(tls_handshake_ms_max) + slowness * std::chrono::seconds(20));
  EXPECT_TRUE(everybody_is_served());
}

}  // namespace
}  // namespace signalbox::test
