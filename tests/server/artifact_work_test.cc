// Whose artifacts are read next from a store of objects, which may hang.
#include "server/rpc/artifact_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <utility>

#include "server/rpc/caller_shares.h"
#include "server/service_lanes.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class ArtifactWorkTest : public ::testing::Test, protected RpcSite {
 protected:
  ArtifactWorkTest() {
    api.artifact_store.emplace(
        BlockingPool::ToLanes([this](Lane lane, std::function<void()> action) {
          lanes.artifact_store.run(std::move(lane), std::move(action));
        }),
        at_once);
  }

  std::latch going_on{1};
  std::latch answered{1};
  std::atomic<std::size_t> refused = 0;
  std::atomic<std::size_t> begun = 0;
  ServiceLanes lanes;  // its threads end first
};

TEST_F(ArtifactWorkTest, WhoAsksForMuchHoldsUpNobodyElse) {  // S13, G7
  const auto ask = [this] {
    run_artifact_work(
        api, "token:greedy", "",
        [this](const Rejection& why) {
          EXPECT_EQ(why.code, ErrorCode::STORAGE_AWAY);
          ++refused;
        },
        [this]() -> std::function<void()> {
          ++begun;
          going_on.wait();
          return [] {};
        });
  };
  while (refused == 0) ask();
  bool was_refused = false;
  run_artifact_work(
      api, "token:modest", "",
      [&](const Rejection&) {
        was_refused = true;
        answered.count_down();
      },
      [this]() -> std::function<void()> { return [this] { answered.count_down(); }; });
  answered.wait();
  EXPECT_FALSE(was_refused);
  EXPECT_LE(begun, limits::artifact_store_working_of_caller_max);
  going_on.count_down();
}

TEST(CallerSharesTest, ACallerHasItsOwnUntilTheLastCopyIsDestroyed) {  // G7
  CallerShares shares(1);
  std::shared_ptr<void> first = shares.take("uid:1");
  ASSERT_NE(first, nullptr);
  const std::shared_ptr<void> copy = first;
  first.reset();
  EXPECT_EQ(shares.take("uid:1"), nullptr);
  EXPECT_NE(shares.take("uid:2"), nullptr);
  EXPECT_NE(shares.take("uid:2"), nullptr) << "the other one was given back at once";
}

}  // namespace
}  // namespace signalbox
