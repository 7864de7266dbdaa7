// The event stream of the real server: each event after the last one that a client saw, whatever
// was killed in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "tests/scenarios/http_client.h"
#include "tests/scenarios/lock_fixture.h"
#include "tests/scenarios/real_server.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct SeenEvent {
  std::uint64_t id = 0;  // 0 if the event has none
  std::string name;
  json::object data;
};

// Returns the next event of a stream, or nullopt at its end. Skips comments and `retry`.
std::optional<SeenEvent> next_event(HttpClient& client) {
  while (true) {
    const std::string text = client.read_until("\n\n");
    if (!text.ends_with("\n\n")) return std::nullopt;
    SeenEvent event;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("id: ")) event.id = std::stoull(line.substr(4));
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("data: ")) event.data = json::parse(line.substr(6)).as_object();
    }
    if (event.name.empty()) continue;
    openapi::expect_described_event(event.name, event.data);
    return event;
  }
}

HttpClient follow(const RealServer& server, const std::string& query,
                  const HttpHeaders& headers = {}) {
  HttpClient client(server.socket());
  client.send(client.text("GET", "/v1/events" + query, headers));
  const std::string header = client.read_until("\r\n\r\n");
  EXPECT_TRUE(header.starts_with("HTTP/1.1 200")) << header;
  EXPECT_NE(header.find("Content-Type: text/event-stream\r\n"), std::string::npos) << header;
  return client;
}

// Acquires `count` locks, as many at once as have their answers read in time.
void make_events(const RealServer& server, int count) {
  constexpr int at_once = 250;
  HttpClient client(server.socket());
  for (int first = 0; first < count; first += at_once) {
    const int end = std::min(first + at_once, count);
    std::string lines;
    for (int number = first; number < end; ++number) {
      lines += R"({"jsonrpc":"2.0","id":1,"method":"lock.acquire","params":{"key":"k)" +
               std::to_string(number) + R"(","owner":"o"}})" + "\n";
    }
    client.send(lines);
    for (int number = first; number < end; ++number) client.read_until("\n");
  }
}

// What a client that goes on after kills has seen: the types of each position's events. The last of
// them has the id, so a client that was cut off between two gets both again.
struct SeenLog {
  std::map<std::uint64_t, std::vector<std::string>> types;
  std::uint64_t last = 0;  // the newest position that was seen whole

  void add(const SeenEvent& event) {
    const auto position = event.data.at("position").to_number<std::uint64_t>();
    EXPECT_EQ(position, last + 1) << "neither loss nor repeat";
    // What the service's own loops say in passing, such as "heartbeat.tick", is in no log.
    if (event.name.find('.') == std::string::npos) types[position].push_back(event.name);
    if (event.id == 0) return;
    EXPECT_EQ(event.id, position);
    last = position;
  }
};

TEST(HttpEvents, GoOnAfterAKillWithoutLossOrRepeat) {
  RealServer server;
  server.start();
  SeenLog seen;
  for (int life = 0; life < 4; ++life) {
    HttpClient stream =
        seen.last == 0 ? follow(server, "?from=1")
                       : follow(server, "?from=1", {{"Last-Event-ID", std::to_string(seen.last)}});
    seen.types.erase(seen.last + 1);
    std::thread load([&server] {
      HttpClient client(server.socket());
      for (int number = 0; number < 2000; ++number) {
        if (client.post("/v1/runs", R"({"goal":"g"})").status == 0) break;
      }
    });
    // The server is killed while events come; those on their way are read to the end.
    for (int number = 0; number < 200; ++number) {
      const auto event = next_event(stream);
      ASSERT_TRUE(event) << server.messages();
      seen.add(*event);
    }
    server.kill();
    while (const auto event = next_event(stream)) seen.add(*event);
    load.join();
    server.start();
  }
  // What was seen is what the log has: no event was sent that isn't durable.
  HttpClient client(server.socket());
  std::map<std::uint64_t, std::vector<std::string>> kept;
  for (std::uint64_t from = 1; from <= seen.last;) {
    const HttpReply page =
        client.post("/rpc", R"({"jsonrpc":"2.0","id":1,"method":"events.read","params":{"from":)" +
                                std::to_string(from) + R"(,"limit":500}})");
    const json::object result = page.json().at("result").as_object();
    for (const json::value& event : result.at("events").as_array()) {
      const auto position = event.at("position").to_number<std::uint64_t>();
      kept[position].emplace_back(event.at("type").as_string());
    }
    from = result.at("next_from").to_number<std::uint64_t>();
  }
  for (std::uint64_t position = 1; position <= seen.last; ++position) {
    EXPECT_EQ(seen.types[position], kept[position]) << position;
  }
}

// Each position is either sent, or among those of which the client is told that they were skipped:
// of a stream that was there before the flood, of one that begins in it and of one that comes back.
TEST(HttpEvents, AScreenIsToldOfWhatIsSkipped) {  // G7, C6
  constexpr int flood = 5000;
  RealServer server;
  server.start();
  HttpClient before = follow(server, "?from=1&per_second_max=100");
  std::thread load([&server] { make_events(server, flood); });
  HttpClient within = follow(server, "?per_second_max=100");
  load.join();
  HttpClient after = follow(server, "?from=1&per_second_max=100");
  // The one that began within may have begun behind all others.
  EXPECT_EQ(server.cli({"lock", "acquire", "last", "--owner", "o"}).exit_code, 0);
  HttpClient client(server.socket());
  const json::object status =
      client.post("/rpc", R"({"jsonrpc":"2.0","id":1,"method":"server.status"})").json();
  const auto end = status.at("result").at("position").to_number<std::uint64_t>();
  ASSERT_GT(end, static_cast<std::uint64_t>(flood));
  // Returns how many were skipped.
  const auto read_to_end = [&](HttpClient& stream) {
    std::uint64_t skipped = 0;
    std::uint64_t last = 0;
    while (last < end) {
      const auto event = next_event(stream);
      EXPECT_TRUE(event) << server.messages();
      if (!event) break;
      const bool is_skipped = event->name == "skipped";
      const auto first = is_skipped ? event->data.at("from").to_number<std::uint64_t>() : event->id;
      if (last != 0) {
        EXPECT_EQ(first, last + 1) << "neither loss nor repeat";
      }
      EXPECT_GE(event->id, first);
      last = event->id;
      if (is_skipped) skipped += last - first + 1;
    }
    return skipped;
  };
  EXPECT_GT(read_to_end(before), 0U);
  EXPECT_GT(read_to_end(after), 0U);
  read_to_end(within);
}

// Who comes back before there was any event has what happened meanwhile, and a page knows which of
// its answers are older than what it is told.
TEST(HttpEvents, BeginWithTheirPosition) {  // O5, C6
  RealServer server;
  server.start();
  make_events(server, 1);
  const auto position_of = [](HttpClient& stream) {
    const std::string begin = stream.read_until("\n\n");
    EXPECT_TRUE(begin.starts_with("retry: 1000\nid: ")) << begin;
    return begin.substr(begin.rfind(' ') + 1, begin.size() - begin.rfind(' ') - 3);
  };
  HttpClient client(server.socket());
  const auto status = [&client] {
    const json::object answer =
        client.post("/rpc", R"({"jsonrpc":"2.0","id":1,"method":"server.status"})").json();
    return answer.at("result").at("position").to_number<std::uint64_t>();
  };
  const std::uint64_t before = status();
  std::string position;
  {
    HttpClient nothing_came = follow(server, "?types=RunStarted");
    position = position_of(nothing_came);
  }
  EXPECT_GE(std::stoull(position), before);
  EXPECT_LE(std::stoull(position), status());
  client.post("/v1/runs", R"({"goal":"meanwhile"})");
  HttpClient back = follow(server, "?types=RunStarted", {{"Last-Event-ID", position}});
  EXPECT_EQ(position_of(back), position);
  const auto event = next_event(back);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data.at("data").at("goal"), "meanwhile");
  HttpClient whole = follow(server, "?from=1");
  EXPECT_EQ(position_of(whole), "0");
}

TEST(HttpEvents, FiltersByRunAndType) {
  RealServer server;
  server.start();
  HttpClient client(server.socket());
  const std::string one(
      client.post("/v1/runs", R"({"goal":"one"})").json().at("run_id").as_string());
  client.post("/v1/runs", R"({"goal":"two"})");
  HttpClient by_run = follow(server, "?from=1&types=RunStarted&run_id=" + one);
  const auto event = next_event(by_run);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "RunStarted");
  EXPECT_EQ(event->data.at("data").at("goal"), "one");

  HttpClient by_type = follow(server, "?from=1&types=LockAcquired,ServerStarted");
  EXPECT_EQ(next_event(by_type)->name, "ServerStarted");
  make_events(server, 1);
  EXPECT_EQ(next_event(by_type)->name, "LockAcquired");
}

TEST(HttpEvents, ABroadcastComesWithItsEvent) {  // H10
  RealServer server;
  server.start();
  HttpClient stream = follow(server, "");
  const auto begin = [&server] {
    return server.cli({"tick", "begin", "nightly", "--lease-ms", "60000"}).exit_code;
  };
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(begin(), 75);
  const auto started = next_event(stream);
  const auto skipped = next_event(stream);
  const auto broadcast = next_event(stream);
  ASSERT_TRUE(started && skipped && broadcast);
  EXPECT_EQ(started->name, "TickStarted");
  EXPECT_EQ(skipped->name, "TickSkipped");
  EXPECT_EQ(skipped->id, 0U) << "who reads on after it hasn't had all of the position";
  EXPECT_EQ(broadcast->name, "heartbeat.skipped");
  EXPECT_EQ(broadcast->id, started->id + 1);
}

TEST(HttpEvents, RefusesAsTheSocketDoes) {
  RealServer server;
  server.start();
  HttpClient client(server.socket());
  EXPECT_EQ(client.get("/v1/events?types=NoSuch").status, 422U);
  EXPECT_EQ(client.get("/v1/events?from=1000").status, 404U);
  EXPECT_EQ(client.get("/v1/events?from=1000").code(), "POSITION_NOT_FOUND");
  EXPECT_EQ(client.get("/v1/events", {{"Last-Event-ID", "x"}}).status, 422U);
  EXPECT_EQ(client.ask("HEAD", "/v1/events").status, 200U);
}

TEST(HttpEvents, AFollowerDoesNotHoldUpTheEndOfTheServer) {
  RealServer server;
  server.start();
  HttpClient stream = follow(server, "?from=1");
  ASSERT_TRUE(next_event(stream));
  EXPECT_EQ(server.stop(), 0);
  while (next_event(stream)) {
  }
}

}  // namespace
}  // namespace signalbox
