// Tests how work learns that nobody waits for its result: by connections of both protocols that
// have closed.
#include "server/rpc/askers.h"

#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

TEST(AskersTest, AFlagIsSetOnceItsPeerHasGone) {  // G7
  Askers askers(/*counts_end_of_output=*/true);
  const auto stays = std::make_shared<ListeningPeer>();
  const auto leaves = std::make_shared<ListeningPeer>();
  auto ended = std::make_shared<ListeningPeer>();
  const Unwanted of_stays = askers.add(stays);
  const Unwanted of_leaves = askers.add(leaves);
  const Unwanted of_ended = askers.add(ended);
  leaves->is_closed = true;
  ended.reset();
  EXPECT_FALSE(*of_leaves) << "connections are looked at when somebody asks";
  const Unwanted of_next = askers.add(stays);
  EXPECT_TRUE(*of_leaves);
  EXPECT_TRUE(*of_ended);
  EXPECT_FALSE(*of_stays);
  askers.give_up();
  EXPECT_TRUE(*of_stays);
  EXPECT_TRUE(*of_next);
  EXPECT_TRUE(*askers.add(stays)) << "whoever comes later";
}

// A service that keeps who asked, and answers nobody.
class SilentSite {
 public:
  ~SilentSite() {
    site_.on_thread([this] {
      asker_.reset();  // before the loop that its socket belongs to
      return 0;
    });
  }
  // Returns whether the only one who asked has gone.
  bool has_gone(bool counts_end_of_output = true) {
    return site_.on_thread([&] { return asker_->has_gone(counts_end_of_output); });
  }
  HttpSite& site() { return site_; }
  // Blocks until somebody has asked.
  void await_asker() {
    ASSERT_TRUE(
        eventually([this] { return site_.on_thread([this] { return asker_ != nullptr; }); }));
  }

 private:
  std::shared_ptr<Peer> asker_;
  HttpSite site_{[this](HttpService& service) {
    service.handle_line = [this](std::string_view, const Caller&,
                                 const std::shared_ptr<Peer>& peer) {
      peer->expect_answer(query_weight);  // so that nothing more is read
      asker_ = peer;
    };
    service.handle_request = [this](std::string_view, const Caller&,
                                    std::optional<std::string_view>,
                                    const std::shared_ptr<Peer>& peer) { asker_ = peer; };
  }};
};

std::string rpc_request(const HttpClient& client) {
  return client.text("POST", "/rpc", {}, RpcSite::request("what_if.run", "{}"));
}

TEST(HasGone, OverHttpOnAUnixSocketWhoEndsItsOutputStillReads) {  // G7
  SilentSite silent;
  {
    HttpClient client(silent.site().socket());
    client.send(rpc_request(client));
    silent.await_asker();
    EXPECT_FALSE(silent.has_gone());
    client.end_output();
    EXPECT_FALSE(silent.has_gone());
  }
  EXPECT_TRUE(eventually([&] { return silent.has_gone(); }));
}

TEST(HasGone, OverHttpOnTcp) {  // G7
  SilentSite silent;
  HttpClient client(silent.site().port());
  client.send(rpc_request(client));
  silent.await_asker();
  EXPECT_FALSE(silent.has_gone());
  client.end_output();
  EXPECT_TRUE(eventually([&] { return silent.has_gone(); }));
  EXPECT_FALSE(silent.has_gone(/*counts_end_of_output=*/false)) << "it still reads";
}

// A line of a query takes all places of a new connection, so that its end isn't read.
TEST(HasGone, OverLinesOnTcpWhoEndsItsOutputMayStillRead) {  // G7
  SilentSite silent;
  HttpClient client(silent.site().port());
  client.send(RpcSite::request("report.get", "{}") + "\n");
  silent.await_asker();
  client.end_output();
  EXPECT_TRUE(eventually([&] { return silent.has_gone(); }));
  EXPECT_FALSE(silent.has_gone(/*counts_end_of_output=*/false));
}

// A line of a query takes all places of a new connection, so that its end isn't read.
TEST(HasGone, OverLines) {  // G7
  for (const bool is_tcp : {false, true}) {
    SilentSite silent;
    {
      HttpClient client = is_tcp ? HttpClient(silent.site().port()) : silent.site().client();
      client.send(RpcSite::request("what_if.run", "{}") + "\n");
      silent.await_asker();
      EXPECT_FALSE(silent.has_gone());
    }
    EXPECT_TRUE(eventually([&] { return silent.has_gone(); })) << is_tcp;
  }
}

}  // namespace
}  // namespace signalbox
