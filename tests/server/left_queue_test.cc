// Tests that nobody who has left, or over TCP may have left, is given what it waited for: a lock, a
// station or a step.
#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/server/http_site.h"
#include "tests/server/rpc_lock_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// A peer whose end of output is in the kernel, and wasn't read yet.
class EndingPeer final : public ListeningPeer {
 public:
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override { return counts_end_of_output; }
};

class LeftQueue : public RpcLock {
 protected:
  std::shared_ptr<EndingPeer> ending(const std::string& method, const std::string& params) {
    auto client = std::make_shared<EndingPeer>();
    dispatcher.handle(request(method, params), {"uid:1", Role::admin}, client);
    return client;
  }
};

TEST_F(LeftQueue, AReleasedLockGoesToTheNextWhoIsThere) {  // G8
  const std::uint64_t token = token_of(acquire("ann"));
  const auto bob = ending("lock.acquire", R"({"key":"deploy","wait_ms":60000,"owner":"bob"})");
  const auto carol = waiter("carol");
  call_lock("lock.release", token);
  serve();
  EXPECT_EQ(outcome(*bob), "OVERLOADED") << "it may still read";
  EXPECT_EQ(outcome(*carol), "carol");
}

// What needn't be waited for is answered, as for any request before the end of the input.
TEST_F(LeftQueue, AFreeLockIsGrantedThoughTheOutputHasEnded) {
  const auto bob = ending("lock.acquire", R"({"key":"deploy","wait_ms":60000,"owner":"bob"})");
  serve();
  EXPECT_EQ(outcome(*bob), "bob");
}

TEST_F(LeftQueue, AReadyStationStaysForOthers) {  // G8
  const auto gone = ending("station.claim", R"({"worker":"a","wait_ms":1000})");
  start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"alone"}]}})");
  claims.serve(clock.monotonic_ns());
  commit_all();
  ASSERT_EQ(gone->lines.size(), 1U);
  EXPECT_TRUE(gone->next().at("result").at("claim").is_null());
  EXPECT_EQ(engine.world().ready.size(), 1U);
}

TEST_F(LeftQueue, APlaceIsLostAtOnceAndTheOthersKeepTheirs) {  // G8
  const std::uint64_t token = token_of(acquire("ann", R"(,"reason":"r")"));
  const auto bob = waiter("bob");
  const auto carol = waiter("carol");
  const auto worker = send_from("station.claim", R"({"worker":"a","wait_ms":1000})");
  locks.leave(*bob);
  claims.leave(*worker);
  commit_all();
  EXPECT_EQ(outcome(*bob), "LOCK_HELD");
  ASSERT_EQ(worker->lines.size(), 1U);
  EXPECT_TRUE(worker->next().at("result").at("claim").is_null());
  EXPECT_EQ(locks.waiting_for("deploy"), 1U);
  EXPECT_EQ(claims.size(), 0U);
  locks.leave(*carol);
  EXPECT_EQ(locks.size(), 0U);
  EXPECT_EQ(outcome(*carol), "LOCK_HELD");
  call_lock("lock.release", token);
  serve();
  EXPECT_EQ(code_of(acquire("dave")), "");
}

// Through real connections of lines.
class LeftConnection : public ::testing::Test {
 protected:
  static std::string acquire(const std::string& owner, int wait_ms) {
    return RpcSite::request("lock.acquire", R"({"key":"deploy","owner":")" + owner +
                                                R"(","wait_ms":)" + std::to_string(wait_ms) + "}") +
           "\n";
  }
  void hold() {
    site_.on_thread(
        [this] { return site_.rpc.ask("lock.acquire", R"({"key":"deploy","owner":"ann"})"); });
  }
  std::size_t waiting() {
    return site_.on_thread([this] { return site_.rpc.locks.size(); });
  }
  HttpSite site_{[this](HttpService& service) {
    service.output_ended = [this](const Peer& peer) { site_.rpc.locks.leave(peer); };
  }};
};

TEST_F(LeftConnection, OverTcpWhoeverEndsItsOutputIsAnsweredAtOnce) {  // G8
  hold();
  HttpClient client(site_.port());
  client.send(acquire("bob", 60'000));
  ASSERT_TRUE(eventually([this] { return waiting() == 1; }));
  client.end_output();
  ASSERT_TRUE(eventually([&] { return client.has_input(); }));
  EXPECT_NE(client.read_all().find("LOCK_HELD"), std::string::npos);
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(LeftConnection, WhoeverHasClosedLosesItsPlaceAtOnce) {  // G8
  hold();
  for (const bool is_tcp : {false, true}) {
    {
      HttpClient client = is_tcp ? HttpClient(site_.port()) : site_.client();
      client.send(acquire("bob", 60'000));
      ASSERT_TRUE(eventually([this] { return waiting() == 1; }));
    }
    EXPECT_TRUE(eventually([this] { return waiting() == 0; })) << is_tcp;
  }
}

TEST_F(LeftConnection, OnAUnixSocketWhoeverEndsItsOutputWaitsOn) {
  hold();
  HttpClient client = site_.client();
  client.send(acquire("bob", 60'000));
  ASSERT_TRUE(eventually([this] { return waiting() == 1; }));
  client.end_output();
  site_.on_thread(
      [this] { return site_.rpc.ask("lock.release", R"({"key":"deploy","token":1})"); });
  site_.on_thread([this] {
    site_.rpc.locks.serve(site_.rpc.clock.monotonic_ns());
    site_.rpc.commit_all();
    return 0;
  });
  EXPECT_NE(client.read_all().find(R"("owner":"bob")"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
