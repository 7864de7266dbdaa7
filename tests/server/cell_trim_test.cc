// What the database of a cell need not keep any more (BEHAVIOURS, chapter K).
#include "server/cell/cell_trim.h"

#include <gtest/gtest.h>

#include "server/cell/cell_member.h"
#include "server/platform/clock.h"
#include "store/memory_event_log.h"
#include "store/memory_shared_log.h"
#include "tests/eventually.h"
#include "tests/store/sample_events.h"

namespace signalbox {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t day_ms = 24LL * 60 * 60 * 1000;

class TrimThrough : public testing::Test {
 protected:
  TrimThrough() {
    facts_.own = "a";
    facts_.now_ns = 20LL * 24 * 60 * 60 * second_ns;
    facts_.absent_ms = 7 * day_ms;
    facts_.old = 100;
    add("a", 500, 0);
  }
  void add(const std::string& name, Position applied, std::int64_t silent_ms) {
    ReplicaReport report;
    report.server.name = name;
    report.applied = applied;
    report.seen_ns = facts_.now_ns - silent_ms * 1'000'000;
    facts_.servers.push_back(report);
  }

  TrimFacts facts_;
};

TEST_F(TrimThrough, NeedsTwoCopiesOrAnArchive) {  // K7
  EXPECT_EQ(trim_through(facts_), 0U);
  facts_.archived = 60;
  EXPECT_EQ(trim_through(facts_), 60U);
  add("b", 500, 2 * day_ms);  // it may have been lost
  EXPECT_EQ(trim_through(facts_), 60U);
  add("c", 500, 5'000);
  EXPECT_EQ(trim_through(facts_), 100U);
}

TEST_F(TrimThrough, KeepsWhatAServerLacks) {  // K7
  add("b", 500, 0);
  add("c", 40, 6 * day_ms);
  EXPECT_EQ(trim_through(facts_), 40U);
  add("d", 0, 0);  // it begins
  EXPECT_EQ(trim_through(facts_), 0U);
}

TEST_F(TrimThrough, DoesNotWaitForEver) {  // K7
  add("b", 500, 0);
  add("c", 40, 8 * day_ms);
  EXPECT_EQ(trim_through(facts_), 100U);
  // Nor for one that can't follow any more, whenever it was there.
  facts_.begin = 50;
  add("d", 49, 0);
  EXPECT_EQ(trim_through(facts_), 100U);
  add("e", 50, 0);
  EXPECT_EQ(trim_through(facts_), 0U) << "it follows what begins there";
}

TEST_F(TrimThrough, KnowsNothingWithoutItsOwnReport) {  // K7
  facts_.own = "x";
  add("b", 500, 0);
  EXPECT_EQ(trim_through(facts_), 0U);
}

// An active server with another one beside it, over a database in memory.
TEST(CellTrim, TheActiveServerRemovesWhatAllHave) {  // K7
  const auto chain = std::make_shared<MemoryChain>();
  const auto shared = [&] { return std::make_unique<MemorySharedLog>(chain); };
  MemoryEventLog replica;
  CellSettings settings;
  settings.name = "main";
  settings.server = {"a", "tcp://a:1", "this one"};
  settings.keep_ms = 1000;
  ASSERT_TRUE(shared()->create(first_link(replica), "secret"));
  ReplicatedEventLog log(replica, shared(), [](const std::string&) {});
  std::atomic<bool> is_active = false;
  CellMember::Hooks hooks{[](const FollowedLink&) {},         [](std::int64_t) {},
                          [&is_active] { is_active = true; }, [](const std::string&) {},
                          [](const StoreError&) {},           [](bool, const std::string&) {}};
  CellMember member(settings, "1.2", log, {shared(), shared()}, std::move(hooks));
  member.start();
  ASSERT_TRUE(eventually([&] { return is_active.load(); }));
  for (Position first = 1; first < 1 + 3 * 300; first += 3) {  // more than are removed at once
    const std::vector<Commit> commits = {test::sample_commit(first, 3)};
    ASSERT_EQ(log.append(log.tail(), commits).status, AppendStatus::ok);
  }
  // The other one has all but the last hundred.
  ReplicaReport other;
  other.server = {"b", "tcp://b:1", "another one"};
  other.applied = 600;
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(shared()->report(other));
    return chain->links().front().prev == 600;
  })) << chain->links().front().prev;
  EXPECT_EQ(chain->links().size(), 100U);
  // And then the rest, but for the end.
  other.applied = 900;
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(shared()->report(other));
    return chain->links().size() == 1;
  }));
  EXPECT_EQ(chain->links().back().last, 900U);
  member.stop(/*lets_go=*/true, {});
}

}  // namespace
}  // namespace signalbox
