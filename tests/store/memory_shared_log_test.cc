// The injected failures of the shared log in memory.
#include "store/memory_shared_log.h"

#include <utility>

#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

using AppendAnswer = SharedAppend::Status;
using Fate = MemoryChain::LostAppend;

struct MemorySharedLogTest : testing::Test {
  std::shared_ptr<MemoryChain> chain = std::make_shared<MemoryChain>();
  MemorySharedLog log{chain};
  MemorySharedLog other{chain};
  ChainLink link = link_after(first_link(), 1);

  void SetUp() override {
    ASSERT_TRUE(log.create(first_link(), "secret"));
    ASSERT_TRUE(log.take(0, {"one", "a"}));
  }
};

TEST_F(MemorySharedLogTest, LosesTheAnswerOfAnAppend) {
  for (const auto& [fate, links] : {std::pair{Fate::vanishes, 1U}, std::pair{Fate::lands, 2U}}) {
    chain->lose_next_append(fate);
    EXPECT_EQ(log.append(link).status, AppendAnswer::unknown);
    EXPECT_EQ(chain->links().size(), links);
  }
  EXPECT_EQ(log.append(link).status, AppendAnswer::conflict);
  EXPECT_EQ(log.append(link_after(link, 1)).status, AppendAnswer::ok);
}

TEST_F(MemorySharedLogTest, LandsAnAppendWhenTheNextWriteComes) {
  chain->lose_next_append(Fate::lands_later);
  EXPECT_EQ(log.append(link).status, AppendAnswer::unknown);
  EXPECT_EQ(chain->links().size(), 1U);
  EXPECT_EQ(log.append(link).status, AppendAnswer::conflict);
  EXPECT_EQ(chain->links().size(), 2U);
  chain->lose_next_append(Fate::lands_later);
  EXPECT_EQ(log.append(link_after(link, 1)).status, AppendAnswer::unknown);
  EXPECT_EQ(*other.take(1, {"other", "b"}), 2U);
  EXPECT_EQ(*other.last(), link_after(link, 1)) << "a take waits for it";
}

TEST_F(MemorySharedLogTest, TakesBackWhatWasNeverAcknowledged) {
  ASSERT_EQ(log.append(link).status, AppendAnswer::ok);
  chain->lose_next_append(Fate::lands);
  EXPECT_EQ(log.append(link_after(link, 1)).status, AppendAnswer::unknown);
  chain->roll_back();
  EXPECT_EQ(*other.last(), link);
  EXPECT_FALSE(other.state()->is_attended);
  chain->lose_next_append(Fate::lands);
  EXPECT_EQ(log.append(link_after(link, 1)).status, AppendAnswer::unknown);
  EXPECT_TRUE(*log.beat(beat_of(1, 1)));
  chain->roll_back();
  EXPECT_EQ(*other.last(), link_after(link, 1)) << "the beat behind it was acknowledged";
}

TEST_F(MemorySharedLogTest, IsAwayForAWhile) {
  chain->set_away(true);
  EXPECT_EQ(log.append(link).status, AppendAnswer::away);
  EXPECT_EQ(log.state().error().kind, StoreError::Kind::away);
  chain->set_away(false);
  EXPECT_FALSE(log.state()->is_attended);
  EXPECT_EQ(log.append(link).status, AppendAnswer::ok);
  chain->set_quorum(false);
  EXPECT_EQ(log.append(link_after(link, 1)).status, AppendAnswer::away);
  EXPECT_FALSE(log.durability()->is_quorum);
}

TEST_F(MemorySharedLogTest, TellsTheTimeOfReports) {
  chain->set_clock_ns(77);
  ASSERT_TRUE(log.report({{"one", "a"}, "active", "1.2", 9, "", 0}));
  EXPECT_EQ(log.replicas()->at(0).seen_ns, 77);
  chain->set_clock_ns(77 + 5'000'000);
  EXPECT_EQ(log.replicas()->at(0).silent_ms, 5);
}

}  // namespace
}  // namespace signalbox::test
