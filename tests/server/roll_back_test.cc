// Tests a full disk: callers that wait for events that are rolled back get an answer, and queries
// still work.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RollBack : public ::testing::Test, protected RpcSite {
 protected:
  // Starts a run whose commit is under way.
  void start_run() {
    send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
    engine.flush();
  }
};

TEST_F(RollBack, AQueryForWhatIsGoneIsAnswered) {
  projector.start();
  std::promise<Position> answered;
  projector.query(
      5, [&answered](const RunIndex& read) { answered.set_value(read.applied()); },
      [](const StoreError& why) { ADD_FAILURE() << why.message; });
  projector.roll_back(log.tail());
  auto answer = answered.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(answer.get(), 0U);
}

TEST_F(RollBack, ReadsThatSawWhatIsGoneAreAskedAgain) {
  start_run();
  for (const char* id : {"2", "3"}) {
    send(R"({"jsonrpc":"2.0","method":"server.status","id":)" + std::string(id) + "}");
  }
  send(R"({"jsonrpc":"2.0","id":4,"method":"events.read","params":{}})");
  EXPECT_TRUE(peer->lines.empty()) << "they saw a run that isn't durable";
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  for (int id = 2; id <= 4; ++id) {
    const auto answer = peer->next();
    EXPECT_EQ(code_of(answer), "");
    EXPECT_EQ(answer.at("id"), id);
    EXPECT_EQ(answer.at("result").at("position"), 0) << "it tells of what was rolled back";
  }
  EXPECT_EQ(peer->unanswered, 0U);
}

// It took the open ticks from the world before, and is answered after further events.
TEST_F(RollBack, SoIsAQueryThatWaitedForTheReadModels) {
  const auto begun = ask("tick.begin", R"({"loop":"sweep","stage":"work","lease_ms":60000})");
  const std::string token = boost::json::serialize(begun.at("result").at("token"));
  send(request("tick.end", R"({"loop":"sweep","outcome":"succeeded","token":)" + token + "}"));
  send(R"({"jsonrpc":"2.0","id":2,"method":"tick.list","params":{}})");
  engine.flush();
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  projector.roll_back(log.tail());
  engine.leave_storage_full();
  EXPECT_EQ(code_of(ask("run.start", R"({"goal":"g"})")), "");
  settle();
  const auto ticks = peer->next();
  EXPECT_EQ(ticks.at("id"), 2);
  EXPECT_EQ(ticks.at("result").at("open_total"), 1) << "it never ended";
  EXPECT_EQ(peer->unanswered, 0U);
}

TEST_F(RollBack, ALongQueryThatSawWhatIsGoneIsRefused) {
  start_run();
  send(R"({"jsonrpc":"2.0","id":2,"method":"run.list","params":{}})" + std::string(8 * 1024, ' '));
  finish(AppendStatus::full);
  projector.roll_back(log.tail());
  settle();
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(peer->unanswered, 0U);
}

TEST_F(RollBack, ASubscriptionBeginsWithWhatIsThere) {
  start_run();
  send(R"({"jsonrpc":"2.0","id":2,"method":"events.subscribe","params":{}})");
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(peer->next().at("result").at("from"), 1) << "the run's event is gone";
  EXPECT_EQ(feed.size(), 1U);
  EXPECT_EQ(peer->unanswered, 0U);
}

TEST_F(RollBack, AnAcceptedSubscriptionIsOne) {
  start_run();
  send(R"({"jsonrpc":"2.0","id":2,"method":"events.subscribe","params":{}})");
  finish();
  EXPECT_EQ(feed.size(), 1U);
}

}  // namespace
}  // namespace signalbox
