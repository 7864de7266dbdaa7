// No space left: what waited for events that will never be is answered, and reads go on.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class RollBack : public ::testing::Test, protected RpcSite {
 protected:
  // A run whose commit is under way.
  void start_run() {
    send(R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g"}})");
    engine.flush();
  }
};

TEST_F(RollBack, AQueryForWhatIsGoneIsAnswered) {
  projector.start();
  std::promise<Position> answered;
  projector.query(5, [&answered](const RunIndex& read) { answered.set_value(read.applied()); });
  projector.roll_back(log.tail());
  auto answer = answered.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(answer.get(), 0U);
}

TEST_F(RollBack, ARefusedSubscriptionIsNone) {
  start_run();
  send(R"({"jsonrpc":"2.0","id":2,"method":"events.subscribe","params":{}})");
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(code_of(peer->next()), "STORAGE_FULL");
  EXPECT_EQ(feed.size(), 0U);
}

TEST_F(RollBack, AnAcceptedSubscriptionIsOne) {
  start_run();
  send(R"({"jsonrpc":"2.0","id":2,"method":"events.subscribe","params":{}})");
  finish();
  EXPECT_EQ(feed.size(), 1U);
}

}  // namespace
}  // namespace signalbox
