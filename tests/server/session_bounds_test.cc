// Tests the bounds of a connection that carries lines: how many requests it takes before they are
// answered, how much it keeps for a client that doesn't read, and for what of it a stop waits. P8
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/limits.h"
#include "tests/eventually.h"
#include "tests/server/http_site.h"

namespace signalbox {
namespace {

// A service that answers when the test says so. Its members are used on the site's thread.
class SessionBounds : public ::testing::Test {
 protected:
  // Sends `count` requests; each is a command to the service below.
  void send(std::size_t count) {
    std::string lines;
    for (std::size_t number = 0; number < count; ++number) lines += "{}\n";
    ASSERT_TRUE(client_.send(lines));
  }
  template <class Use>
  auto on_peer(Use use) {
    return site_.on_thread([&] { return use(*peer_.lock()); });
  }
  void answer(std::size_t count, const std::string& line = "{}") {
    on_peer([&](Peer& peer) {
      for (std::size_t number = 0; number < count; ++number) peer.answer(line, weight_);
      return 0;
    });
  }
  // Expects that so many requests were taken in all, and no further one.
  void expect_taken(std::size_t count) {
    const auto taken = [this] { return site_.on_thread([this] { return taken_; }); };
    EXPECT_TRUE(eventually([&] { return taken() >= count; })) << taken();
    EXPECT_EQ(taken(), count);
  }

  std::size_t unsent() {
    return on_peer([](const Peer& peer) { return peer.outgoing_bytes(); });
  }
  // Delivers lines that aren't read until `bytes` stay unsent. Returns their number. What the
  // kernel keeps doesn't count: a write that is under way may move more of it there, step by step.
  std::size_t deliver_until_unsent(std::size_t bytes) {
    const std::string line(outgoing_bytes_max - 1, 'x');
    std::size_t lines = 0;
    for (int steps = 0; steps < 64; ++steps) {
      if (unsent() >= bytes) continue;
      on_peer([&](Peer& peer) {
        peer.deliver(line);
        return 0;
      });
      ++lines;
      steps = 0;
    }
    return lines;
  }

  std::size_t taken_ = 0;
  std::size_t weight_ = 1;    // of each request
  std::weak_ptr<Peer> peer_;  // it ends with the site
  HttpSite site_{[this](HttpService& service) {
    service.handle_line = [this](std::string_view, const Caller&,
                                 const std::shared_ptr<Peer>& peer) {
      peer_ = peer;
      peer->expect_answer(weight_);
      ++taken_;
    };
  }};
  HttpClient client_ = site_.client();
};

TEST_F(SessionBounds, UnansweredCommands) {
  send(3000);
  expect_taken(query_weight);
  answer(query_weight);  // each small answer doubles the bound, up to the greatest
  expect_taken(query_weight + commands_in_flight_max);
  answer(1);
  expect_taken(query_weight + commands_in_flight_max + 1);
}

TEST_F(SessionBounds, UnansweredQueries) {
  weight_ = query_weight;
  send(100);
  expect_taken(1);
  answer(1);
  expect_taken(3);  // the bound was doubled
  answer(2);
  expect_taken(3 + queries_in_flight_max);
  answer(1);
  expect_taken(3 + queries_in_flight_max + 1);
}

TEST_F(SessionBounds, ALargeAnswerSetsTheQueriesBackToOne) {
  weight_ = query_weight;
  send(100);
  expect_taken(1);
  answer(1, std::string(small_answer_bytes_max, 'x'));
  client_.read_until("\n");
  expect_taken(3);
  answer(2, std::string(small_answer_bytes_max + 1, 'x'));
  client_.read_until("\n");
  client_.read_until("\n");
  expect_taken(4);
}

TEST_F(SessionBounds, UnsentOutput) {
  send(1);
  expect_taken(1);
  std::size_t lines = deliver_until_unsent(outgoing_bytes_max);
  send(1);
  answer(1);
  for (int steps = 0; steps < 64; ++steps) unsent();  // in which it could be taken
  expect_taken(1);
  for (; lines > 0; --lines) client_.read_until("\n");
  expect_taken(2);
}

// A subscriber that reads nothing any more doesn't hold up a stop; an answer does.
TEST_F(SessionBounds, OnlyAnswersAreWaitedForAtAStop) {  // G6
  send(1);
  expect_taken(1);
  EXPECT_TRUE(site_.is_answering());
  answer(1);
  client_.read_until("\n");
  std::size_t lines = deliver_until_unsent(1);
  EXPECT_FALSE(site_.is_answering());
  send(1);
  expect_taken(2);
  answer(1);
  EXPECT_TRUE(site_.is_answering()) << "it isn't sent";
  for (; lines > 0; --lines) client_.read_until("\n");
  client_.read_until("\n");
  EXPECT_TRUE(eventually([this] { return !site_.is_answering(); }));
}

}  // namespace
}  // namespace signalbox
