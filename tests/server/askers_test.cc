// Tests how work learns that nobody waits for its result: by connections of both protocols that
// have closed.
#include "server/rpc/askers.h"

#include <gtest/gtest.h>

#include "tests/eventually.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

TEST(AskersTest, AFlagIsSetOnceItsPeerHasGone) {  // G7
  Askers askers(/*gives_up_doubtful=*/true);
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

// A peer over TCP that has ended its output: it may still read.
class DoubtfulPeer final : public ListeningPeer {
 public:
  [[nodiscard]] bool has_gone(bool counts_end_of_output) override { return counts_end_of_output; }
};

TEST(AskersTest, WhoeverMayStillReadIsGivenUpForOthersOnly) {  // G7
  Askers askers(/*gives_up_doubtful=*/true);
  const auto first = std::make_shared<DoubtfulPeer>();
  const auto second = std::make_shared<DoubtfulPeer>();
  const Unwanted of_first = askers.add(first);
  const Unwanted of_second = askers.add(second);
  askers.note_gone();
  EXPECT_FALSE(*of_first) << "nobody else waits";
  EXPECT_FALSE(*of_second);
  const auto waits = std::make_shared<ListeningPeer>();
  const Unwanted of_waits = askers.add(waits);
  EXPECT_TRUE(*of_first);
  EXPECT_TRUE(*of_second);
  EXPECT_FALSE(*of_waits);
  const Unwanted of_third = askers.add(first);
  EXPECT_TRUE(*of_third) << "it comes while somebody waits";
  waits->is_closed = true;
  EXPECT_FALSE(*askers.add(second));

  Askers patient(/*gives_up_doubtful=*/false);
  const Unwanted kept = patient.add(first);
  const auto other = std::make_shared<ListeningPeer>();
  const Unwanted of_other = patient.add(other);
  EXPECT_FALSE(*kept);
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
