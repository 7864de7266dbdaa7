// The conformance suite of EventLog: dropping records. The suite is instantiated in
// event_log_conformance_test.cc.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "store/merkle_tree.h"
#include "tests/store/event_log_conformance.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

// Twelve records in commits of 1, 2, 3, 1, 2, 3; those up to 6 are dropped except for 2 and 3.
TEST_P(RedactableLogConformance, DropsWhatIsNotKept) {
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const MerkleFrontier tree = log().frontier();
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const PreparedDrop drop = prepare_drop(log(), tree, {{2, 3}}, "the base");
  const auto dropped = log().drop(12, drop.commit, drop.drop);
  ASSERT_TRUE(dropped) << dropped.error().message;

  EXPECT_EQ(log().tail(), 13U);
  EXPECT_EQ(log().horizon().position, 6U);
  EXPECT_EQ(log().horizon().dropped_at, 13U);
  EXPECT_EQ(log().horizon().frontier, tree);
  EXPECT_EQ(log().base().value(), "the base");
  EXPECT_EQ(*log().read_commit(13), drop.commit);
  EXPECT_EQ(*log().read(7, 6), expected(7, 12));
  EXPECT_EQ(*log().read(2, 2), expected(2, 3));
  EXPECT_EQ(*log().read_commit(3), expected(2, 3));
  for (const Position gone : {1U, 4U, 5U, 6U}) {
    EXPECT_EQ(log().read_commit(gone).error().kind, StoreError::Kind::dropped) << gone;
    EXPECT_EQ(log().read(gone, 1).error().kind, StoreError::Kind::dropped) << gone;
    EXPECT_EQ(log().read(gone, 1).error().position, gone);
  }
  EXPECT_EQ(log().read(2, 100).error().position, 4U);
  std::vector<Record> records;
  const auto before_dropped = log().scan(2, 100, [&records](Record&& record) {
    records.push_back(std::move(record));
    return records.size() < 2;
  });
  EXPECT_EQ(before_dropped.value_or(0), 3U) << "who stops before it never meets what was dropped";
  EXPECT_EQ(records, expected(2, 3));

  const std::vector<Commit> more{sample_commit(14, 2)};
  EXPECT_EQ(log().append(13, more).tail, 15U);
  EXPECT_EQ(log().frontier().leaves, 15U);
}

// A drop at the present horizon gives the dropped records another base and drops nothing.
TEST_P(RedactableLogConformance, RenewsTheBase) {  // G17
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const MerkleFrontier tree = log().frontier();
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const PreparedDrop drop = prepare_drop(log(), tree, {{2, 3}}, "the base");
  ASSERT_TRUE(log().drop(12, drop.commit, drop.drop));
  const PreparedDrop renewal = prepare_drop(log(), tree, {{2, 3}}, "another base");
  const auto renewed = log().drop(13, renewal.commit, renewal.drop);
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_EQ(log().tail(), 14U);
  EXPECT_EQ(log().horizon().position, 6U);
  EXPECT_EQ(log().horizon().dropped_at, 14U);
  EXPECT_EQ(log().horizon().frontier, tree);
  EXPECT_EQ(log().base().value(), "another base");
  EXPECT_EQ(*log().read(2, 2), expected(2, 3));
  EXPECT_EQ(*log().read(7, 6), expected(7, 12));
  EXPECT_EQ(*log().read_commit(13), drop.commit);
  const std::vector<Commit> more{sample_commit(15, 2)};
  EXPECT_EQ(log().append(14, more).tail, 16U);
}

TEST_P(RedactableLogConformance, DropsInSteps) {
  std::vector<MerkleFrontier> trees;
  for (int commit = 0; commit < 300; ++commit) {
    ASSERT_EQ(append({3}).status, AppendStatus::ok);
    trees.push_back(log().frontier());
  }
  const auto drop = [&](std::size_t commits, std::vector<PositionRange> kept) {
    const PreparedDrop prepared =
        prepare_drop(log(), trees[commits - 1], std::move(kept), std::to_string(commits));
    return log().drop(log().tail(), prepared.commit, prepared.drop);
  };
  ASSERT_TRUE(drop(100, {{1, 3}, {31, 36}, {298, 300}}));
  ASSERT_TRUE(drop(101, {{31, 33}, {298, 303}}));
  const auto third = drop(250, {{31, 33}});
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(log().base().value(), "250");
  EXPECT_EQ(*log().read(31, 3), expected(31, 33));
  EXPECT_EQ(*log().read(751, 150), expected(751, 900));
  EXPECT_FALSE(log().read(34, 1));
  EXPECT_FALSE(log().read(298, 1));
}

TEST_P(RedactableLogConformance, DropsNothingThatIsNotAsTold) {
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const MerkleFrontier tree = log().frontier();
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const auto refused = [&](PreparedDrop drop) {
    const auto dropped = log().drop(12, drop.commit, drop.drop);
    return !dropped && dropped.error().kind == StoreError::Kind::damaged;
  };
  MerkleFrontier other = tree;
  other.subtrees.front().bytes[0] ^= 1;
  EXPECT_TRUE(refused(prepare_drop(log(), other, {}, "base"))) << "another tree";
  PreparedDrop base = prepare_drop(log(), tree, {}, "base");
  base.drop.base = "another base";
  EXPECT_TRUE(refused(base));
  EXPECT_TRUE(refused(prepare_drop(log(), tree, {{3, 3}}, "base"))) << "part of an entry";
  EXPECT_TRUE(refused(prepare_drop(log(), tree, {{2, 2}}, "base"))) << "part of an entry";
  EXPECT_EQ(log().tail(), 12U);
  EXPECT_EQ(*log().read(1, 12), expected(1, 12));
  EXPECT_EQ(log().horizon(), Horizon{});
}

// G17
TEST_P(RedactableLogConformance, DropsWhileOthersAppend) {
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const MerkleFrontier tree = log().frontier();
  auto staged = log().stage_drop({6, {{2, 3}}, "the base"}, nullptr);
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->frontier, tree);
  ASSERT_EQ(append({2}).status, AppendStatus::ok);
  for (bool more = true; more;) more = log().store_base_part(*staged).value();
  ASSERT_EQ(append({1}).status, AppendStatus::ok);
  EXPECT_EQ(log().horizon(), Horizon{});
  EXPECT_EQ(*log().read(1, 9), expected(1, 9));

  const PreparedDrop drop = prepare_drop(log(), tree, {{2, 3}}, "the base");
  const auto early = log().commit_drop(8, drop.commit, *staged);
  ASSERT_TRUE(early) << early.error().message;
  EXPECT_EQ(early->status, AppendStatus::conflict);
  EXPECT_EQ(early->tail, 9U);
  const auto dropped = log().commit_drop(9, drop.commit, *staged);
  ASSERT_TRUE(dropped) << dropped.error().message;
  EXPECT_EQ(dropped->status, AppendStatus::ok);
  EXPECT_EQ(dropped->tail, 10U);
  EXPECT_EQ(log().horizon().position, 6U);
  EXPECT_EQ(log().horizon().dropped_at, 10U);
  EXPECT_EQ(log().base().value(), "the base");
  EXPECT_EQ(*log().read(2, 2), expected(2, 3));
  EXPECT_EQ(*log().read(7, 3), expected(7, 9));
  EXPECT_EQ(log().read(4, 1).error().kind, StoreError::Kind::dropped);
  EXPECT_TRUE(log().purge_dropped(nullptr));
  EXPECT_TRUE(log().note_purged());
  EXPECT_TRUE(log().horizon().files_rewritten);
}

// G17
TEST_P(RedactableLogConformance, GivesUpADropBeforeItsCommit) {
  ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  const MerkleFrontier tree = log().frontier();
  const std::atomic<bool> canceled = true;
  const auto stopped = log().stage_drop({6, {}, "a base"}, &canceled);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, StoreError::Kind::io);
  auto given_up = log().stage_drop({6, {}, "a base"}, nullptr);
  ASSERT_TRUE(given_up);
  EXPECT_FALSE(log().store_base_part(*given_up).value());
  const PreparedDrop drop = prepare_drop(log(), tree, {{1, 1}}, "another base");
  ASSERT_TRUE(log().drop(6, drop.commit, drop.drop));
  EXPECT_EQ(log().base().value(), "another base");
  EXPECT_EQ(*log().read(1, 1), expected(1, 1));
}

}  // namespace
}  // namespace signalbox::test
