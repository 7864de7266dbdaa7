// Tests the HTTP session and the listener with clients that are slow, silent, many or disconnected:
// timeouts and limits.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <chrono>

#include "tests/eventually.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

constexpr std::int64_t soon_ms = 100;

TEST(HttpListener, AHeaderThatTakesTooLongIsCutOff) {
  HttpSite site([](HttpService& service) { service.header_ms_max = soon_ms; });
  HttpClient client = site.client();
  // Sending a byte now and then doesn't extend the deadline.
  const std::string request = client.text("GET", "/healthz");
  std::thread drip([&] {
    for (const char& byte : request.substr(0, request.size() - 2)) {
      if (!client.send({&byte, 1})) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const HttpReply reply = client.reply();
  drip.join();
  EXPECT_EQ(reply.status, 408U);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(eventually([&] { return site.connections() == 0; }));
}

TEST(HttpListener, ABodyThatTakesTooLongIsCutOff) {
  HttpSite site([](HttpService& service) { service.body_ms_max = soon_ms; });
  HttpClient client = site.client();
  client.send(client.text("POST", "/v1/runs", {{"Content-Length", "10"}}, "{\"go"));
  EXPECT_EQ(client.reply().status, 408U);
  EXPECT_TRUE(client.closed_by_server());
}

// More is asked for than the kernel keeps of the answers, and nothing is read.
TEST(HttpListener, AResponseThatIsNotReadInTimeIsCutOff) {  // P8
  HttpSite site([](HttpService& service) { service.write_ms_max = soon_ms; });
  HttpClient client = site.client();
  EXPECT_EQ(client.get("/healthz").status, 200U);
  std::string requests;
  for (int count = 0; count < 50; ++count) requests += client.text("GET", "/openapi.json");
  client.send(requests);
  EXPECT_TRUE(eventually([&] { return site.connections() == 0; }));
}

// The server's end of a connection is a descriptor of this process too.
TEST(HttpListener, WhatIsSentOverTcpIsNotKeptBack) {  // C6
  HttpSite site;
  HttpClient client(site.port());
  ASSERT_EQ(client.get("/healthz").status, 200U);
  constexpr int descriptors_max = 1024;
  int ends = 0;
  for (int each = 0; each < descriptors_max; ++each) {
    sockaddr_in local{};
    socklen_t size = sizeof local;
    if (getsockname(each, reinterpret_cast<sockaddr*>(&local), &size) != 0) continue;
    if (local.sin_family != AF_INET || ntohs(local.sin_port) != site.port()) continue;
    int is_listening = 0;
    int sends_at_once = 0;
    size = sizeof(int);
    ASSERT_EQ(getsockopt(each, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size), 0);
    ASSERT_EQ(getsockopt(each, IPPROTO_TCP, TCP_NODELAY, &sends_at_once, &size), 0);
    if (is_listening != 0) continue;
    EXPECT_NE(sends_at_once, 0);
    ++ends;
  }
  EXPECT_EQ(ends, 1);
}

TEST(HttpListener, AnIdleConnectionIsClosedAndABusyOneIsNot) {
  HttpSite site([](HttpService& service) { service.idle_ms_max = soon_ms; });
  HttpClient client = site.client();
  EXPECT_EQ(client.get("/healthz").status, 200U);
  EXPECT_TRUE(client.closed_by_server());

  // A connection with a waiting claim doesn't count as idle.
  HttpClient waiting = site.client();
  waiting.send(waiting.text("POST", "/rpc", {},
                            R"({"jsonrpc":"2.0","id":1,"method":"station.claim",)"
                            R"("params":{"worker":"w","lease_ms":1000,"wait_ms":30000}})"));
  ASSERT_TRUE(
      eventually([&] { return site.on_thread([&] { return site.rpc.claims.size(); }) == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * soon_ms));
  EXPECT_EQ(site.connections(), 1U);
}

TEST(HttpListener, WhoIsGoneWaitsForNothing) {
  HttpSite site;
  {
    HttpClient client = site.client();
    client.send(client.text("POST", "/rpc", {},
                            R"({"jsonrpc":"2.0","id":1,"method":"station.claim",)"
                            R"("params":{"worker":"w","lease_ms":1000,"wait_ms":30000}})"));
    ASSERT_TRUE(
        eventually([&] { return site.on_thread([&] { return site.rpc.claims.size(); }) == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return site.connections() == 0; }));
}

TEST(HttpListener, CountsConnectionsOfBothProtocolsTogether) {
  HttpSite site;
  HttpClient http = site.client();
  EXPECT_EQ(http.get("/healthz").status, 200U);
  HttpClient lines = site.client();
  lines.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.limits\"}\n");
  EXPECT_NE(lines.read_until("\n").find("\"result\""), std::string::npos);
  HttpClient silent = site.client();
  EXPECT_TRUE(eventually([&] { return site.connections() == 3; }));
}

TEST(HttpListener, AnEventStreamWithNothingToSayBeats) {
  HttpSite site([](HttpService& service) { service.event_stream_heartbeat_ms = 20; });
  HttpClient client = site.client();
  client.send(client.text("GET", "/v1/events"));
  EXPECT_NE(client.read_until("\r\n\r\n").find("text/event-stream"), std::string::npos);
  EXPECT_EQ(client.read_until("\n\n"), "retry: 1000\nid: 0\n\n");
  EXPECT_EQ(client.read_until("\n\n"), ": heartbeat\n\n");
  EXPECT_EQ(client.read_until("\n\n"), ": heartbeat\n\n");
  site.finish();
  EXPECT_TRUE(client.closed_by_server()) << "the server stops";
}

// Publishes so many events in one commit.
void publish(HttpSite& site, std::size_t count) {
  site.on_thread([&] {
    Commit commit;
    for (std::size_t index = 0; index < count; ++index) {
      Record record;
      record.position = site.rpc.log.tail() + 1 + index;
      record.event = ServerStarted{};
      commit.push_back(record);
    }
    const std::vector<Commit> batch{commit};
    EXPECT_EQ(site.rpc.log.append(site.rpc.log.tail(), batch).status, AppendStatus::ok);
    site.rpc.feed.publish(batch);
    return 0;
  });
}

// Publishes far more events than a subscriber may fall behind, in batches of growing size.
void publish_many(HttpSite& site) {
  // First more than the kernel's and the queue's buffers hold, then more events than a subscriber
  // may fall behind, and then some.
  for (std::size_t sent = 0; sent < 10; ++sent) publish(site, 1000);
  for (std::size_t sent = 0; sent < 13; ++sent) publish(site, 10'000);
}

// What waits for the next write to a screen comes without another event after it.
TEST(HttpListener, AScreenGetsWhatComesFastToTheEnd) {  // C6
  HttpSite site;
  HttpClient client = site.client();
  client.send(client.text("GET", "/v1/events?per_second_max=1000&fields=summary"));
  client.read_until("retry: 1000\nid: 0\n\n");
  for (Position next = 1; next <= 50; ++next) publish(site, 1);
  for (Position next = 1; next <= 50; ++next) {
    const std::string event = client.read_until("\n\n");
    EXPECT_TRUE(event.starts_with("id: " + std::to_string(next) + "\n")) << event;
  }
}

// Each write to it costs as much as one of many events; any other stream gets each event at once.
TEST(HttpListener, AScreenIsWrittenToOnceInAWhile) {  // C6
  constexpr std::int64_t hour_ms = 60L * 60 * 1000;
  HttpSite site([](HttpService& service) { service.screen_write_interval_ms = hour_ms; });
  HttpClient screen = site.client();
  screen.send(screen.text("GET", "/v1/events?per_second_max=1000&fields=summary"));
  screen.read_until("retry: 1000\nid: 0\n\n");
  HttpClient other = site.client();
  other.send(other.text("GET", "/v1/events"));
  other.read_until("retry: 1000\nid: 0\n\n");
  for (Position next = 1; next <= 3; ++next) {
    publish(site, 1);
    const std::string event = other.read_until("\n\n");
    EXPECT_TRUE(event.starts_with("id: " + std::to_string(next) + "\n")) << event;
  }
  site.on_thread([] { return 0; });  // a write to the screen would have been before
  EXPECT_FALSE(screen.has_input());
}

// Lets clients take their time with what is left, on any machine.
void reads_slowly(HttpService& service) { service.close_grace_ms = 10L * 60 * 1000; }

// A client that reads afterwards gets every event up to where it was dropped, then `lagged`, then
// nothing.
TEST(HttpListener, AStreamThatIsNotReadIsLetGo) {
  HttpSite site(reads_slowly);
  HttpClient client = site.client();
  client.send(client.text("GET", "/v1/events"));
  client.read_until("retry: 1000\nid: 0\n\n");
  publish_many(site);
  Position next = 1;
  std::string event = client.read_until("\n\n");
  for (; event.starts_with("id: " + std::to_string(next) + "\n"); ++next) {
    event = client.read_until("\n\n");
  }
  EXPECT_TRUE(event.starts_with("event: lagged\n")) << event;
  EXPECT_NE(event.find("\"from\":" + std::to_string(next)), std::string::npos) << event;
  EXPECT_GT(next, 1000U);
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpListener, ASubscriberThatDoesNotReadIsLetGo) {
  HttpSite site(reads_slowly);
  HttpClient client = site.client();
  client.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events.subscribe\"}\n");
  client.read_until("\n");
  publish_many(site);
  Position next = 1;
  std::string line = client.read_until("\n");
  const auto is_event = [&] {
    return line.find("\"position\":" + std::to_string(next) + ",") != std::string::npos;
  };
  for (; is_event(); ++next) line = client.read_until("\n");
  EXPECT_NE(line.find("\"method\":\"lagged\""), std::string::npos) << line;
  EXPECT_NE(line.find("\"from\":" + std::to_string(next)), std::string::npos) << line;
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpListener, ReadyzTellsWhyNot) {
  HttpSite site;
  HttpClient client = site.client();
  EXPECT_EQ(client.get("/readyz").status, 200U);
  site.on_thread([&] {
    site.not_ready = Rejection{ErrorCode::STORAGE_FULL, "no space", {}, {"df -h"}};
    return 0;
  });
  const HttpReply reply = client.get("/readyz");
  EXPECT_EQ(reply.status, 503U);
  EXPECT_EQ(reply.code(), "STORAGE_FULL");
  EXPECT_FALSE(reply.header("Retry-After").empty());
  EXPECT_EQ(client.get("/healthz").status, 200U) << "the process lives";
}

TEST(HttpListener, AStoppingServerAnswersWhatItWasAskedAndCloses) {
  HttpSite site;
  HttpClient idle = site.client();
  EXPECT_EQ(idle.get("/healthz").status, 200U);
  HttpClient half = site.client();
  const std::string request = half.text("GET", "/healthz");
  half.send(request.substr(0, 10));
  ASSERT_TRUE(eventually([&] { return site.connections() == 2 && half.all_is_read(); }));
  site.finish();
  EXPECT_TRUE(idle.closed_by_server());
  half.send(request.substr(10));
  const HttpReply reply = half.reply();
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_TRUE(half.closed_by_server());
}

// One connection more was taken from the kernel's queue when the listener closed, and its handler
// ran afterwards.
TEST(HttpListener, NothingIsAcceptedAfterTheClose) {
  TemporaryDirectory directory;
  boost::asio::io_context io;
  Listener listener(io,
                    HttpService{{}, {}, {}, {at_once, at_once}, {at_once, at_once}, HostRule()});
  ASSERT_TRUE(listener.listen_unix(directory.path() / "s"));
  const HttpClient first(directory.path() / "s");
  const HttpClient second(directory.path() / "s");
  const auto patience = std::chrono::seconds(30);
  while (listener.connections() == 0 && io.run_one_for(patience) > 0) {
  }
  ASSERT_EQ(listener.connections(), 1U);
  listener.finish();
  listener.close();
  io.run_for(patience);
  EXPECT_TRUE(io.stopped()) << "it goes on trying to accept";
  EXPECT_EQ(listener.connections(), 0U);
}

}  // namespace
}  // namespace signalbox
