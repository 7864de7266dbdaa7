// What follows the events of a server goes on after the connection ends, whatever the server does
// then. The server is the test, so that it does it at the right moment.
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "store/file_descriptor.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr int connection_ms_max = 120'000;

// A connection of a client that asks for a subscription, or for one thing after the other.
class Subscriber {
 public:
  explicit Subscriber(int listening) {
    pollfd waiting{listening, POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, connection_ms_max), 1);
    connection_ = FileDescriptor(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(connection_);
    read_request();
  }
  // Waits for the next request of the connection, and returns its method.
  std::string read_request() {
    std::string line;
    char byte = 0;
    while (::recv(connection_.get(), &byte, 1, 0) == 1 && byte != '\n') line += byte;
    json::error_code error;
    const json::value request = json::parse(line, error);
    EXPECT_TRUE(!error && request.is_object()) << line;
    if (request.is_object()) request_ = request.get_object();
    return request_.contains("method") ? std::string(request_.at("method").as_string()) : "";
  }
  [[nodiscard]] std::string from() const {
    return json::serialize(request_.at("params").at("from"));
  }
  void accept(int from, const std::string& subscription = "events") const {
    succeed({{"from", from}, {"subscription", subscription}});
  }
  void succeed(const json::object& result) const { answer("result", result); }
  void refuse() const {
    answer("error", {{"code", -32000},
                     {"message", "too many subscriptions"},
                     {"data", {{"code", "OVERLOADED"}}}});
  }
  void notify(const std::string& method, int position) const {
    json::object params{{"position", position}};
    if (method == "event") params["type"] = "RunPaused";
    send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  }
  // Tells that a subscription doesn't keep up, as the last notification of the connection.
  void let_go(const std::string& subscription, int from) const {
    send({{"jsonrpc", "2.0"},
          {"method", "lagged"},
          {"params", {{"subscription", subscription}, {"from", from}}}});
  }

 private:
  void answer(const char* kind, const json::object& content) const {
    send({{"jsonrpc", "2.0"}, {"id", request_.at("id")}, {kind, content}});
  }
  void send(const json::object& message) const {
    const std::string line = json::serialize(message) + "\n";
    EXPECT_EQ(::send(connection_.get(), line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
  }

  FileDescriptor connection_;
  json::object request_;
};

class ReconnectTest : public testing::Test {
 protected:
  ReconnectTest() : listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket();
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listening_.get(), 8), 0);
  }
  [[nodiscard]] std::string socket() const { return (scratch_.path() / "socket").string(); }
  [[nodiscard]] std::vector<std::string> following_words() const {
    return {SIGNALBOX_BINARY, "events", "--follow",          "--from", "7",        "--type",
            "RunPaused",      "--type", "attention.changed", "--json", "--socket", socket()};
  }
  // Returns the next connection of the client.
  [[nodiscard]] Subscriber next() const { return Subscriber(listening_.get()); }
  // Returns how often the client printed something of this type and position.
  static int printed(const BackgroundCommand& client, const std::string& type, int position) {
    int count = 0;
    std::istringstream lines(client.out());
    for (std::string line; std::getline(lines, line);) {
      count += line.find("\"" + type + "\"") != std::string::npos &&
                       line.find("\"position\":" + std::to_string(position)) != std::string::npos
                   ? 1
                   : 0;
    }
    return count;
  }

  TemporaryDirectory scratch_;
  FileDescriptor listening_;
};

// The connection ends between an event and what is announced with it.
TEST_F(ReconnectTest, WhatBelongsToTheLastEventIsAskedForAgain) {  // O5
  const BackgroundCommand client(following_words(), scratch_.path() / "client");
  {
    const Subscriber first = next();
    first.accept(7);
    first.notify("event", 7);
  }
  const Subscriber second = next();
  EXPECT_EQ(second.from(), "7");
  second.accept(7);
  second.notify("event", 7);
  second.notify("attention.changed", 7);
  second.notify("event", 8);
  EXPECT_TRUE(eventually([&] { return printed(client, "RunPaused", 8) == 1; })) << client.err();
  EXPECT_EQ(printed(client, "RunPaused", 7), 1) << client.out();
  EXPECT_EQ(printed(client, "attention.changed", 7), 1) << client.out();
}

TEST_F(ReconnectTest, WhatDoesNotKeepUpGoesOnWhereItIs) {  // O5
  const BackgroundCommand client(following_words(), scratch_.path() / "client");
  {
    const Subscriber first = next();
    first.accept(7);
    first.notify("event", 7);
    first.let_go("events", 9);
  }
  EXPECT_EQ(next().from(), "9");
}

// A run is followed by two subscriptions of one connection. That of its log has no events to send,
// so it may be far behind those that have come, or ahead of them.
TEST_F(ReconnectTest, ALogThatDoesNotKeepUpLosesNoEvents) {  // O5
  const BackgroundCommand client({SIGNALBOX_BINARY, "run", "watch",
                                  "01890000-0000-7000-8000-000000000001", "--socket", socket()},
                                 scratch_.path() / "client");
  {
    Subscriber asking = next();  // run.get
    asking.succeed({{"run",
                     {{"run_id", "01890000-0000-7000-8000-000000000001"},
                      {"status", "running"},
                      {"started_position", 3},
                      {"last_position", 5}}}});
  }
  {
    Subscriber first = next();
    first.accept(100, "log");
    ASSERT_EQ(first.read_request(), "events.subscribe");
    EXPECT_EQ(first.from(), "3");
    first.accept(3);
    first.notify("event", 4);
    first.let_go("log", 90);
  }
  Subscriber second = next();
  second.accept(100, "log");
  ASSERT_EQ(second.read_request(), "events.subscribe");
  EXPECT_EQ(second.from(), "5");
}

// A server has the most to do just after a start, when all clients come back.
TEST_F(ReconnectTest, AServerThatRefusesIsAskedLessAndLessOften) {  // O5
  const BackgroundCommand client(following_words(), scratch_.path() / "client");
  next().accept(7);
  const auto begin = std::chrono::steady_clock::now();
  for (int refusals = 0; refusals < 3; ++refusals) next().refuse();
  const Subscriber taken = next();
  // The pauses are of 200, 400 and 800 ms, each a random part of up to a half shorter.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(650));
  taken.accept(7);
  taken.notify("event", 7);
  EXPECT_TRUE(eventually([&] { return printed(client, "RunPaused", 7) == 1; })) << client.err();
  EXPECT_NE(client.err().find("refused for now: too many subscriptions"), std::string::npos)
      << client.err();
}

}  // namespace
}  // namespace signalbox
