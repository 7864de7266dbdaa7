// Drops of records in a cell: the writer records them, and each replica makes the same ones by
// itself, whenever it is killed (BEHAVIOURS, chapter K).
#include <gtest/gtest.h>

#include "store/merkle_tree.h"
#include "tests/store/cell_replica.h"

namespace signalbox::test {
namespace {

class ReplicatedDrop : public testing::Test {
 protected:
  ReplicatedDrop() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    for (int count = 0; count < 4; ++count) first_.append();
    tree_ = first_.log->frontier();
    for (int count = 0; count < 4; ++count) first_.append();
  }

  // Has the first one drop what is before tree_, except for 4 to 6. Returns the drop.
  HistoryDrop drop() {
    const PreparedDrop prepared = prepare_drop(*first_.log, tree_, {{4, 6}}, "the base");
    const auto staged =
        CellReplica::with_base(*first_.log, first_.log->stage_drop(prepared.drop, nullptr));
    EXPECT_TRUE(staged) << staged.error().message;
    const auto result = first_.log->commit_drop(first_.log->tail(), prepared.commit, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return prepared.drop;
  }

  // Stages the drop for the first event that is due.
  static Stored<StagedDrop> stage_due(const CellReplica& member, const HistoryDrop& drop) {
    const Position dropped_at = member.log->due_drops().front();
    return member.log->stage_due_drop(drop, dropped_at, 0, nullptr);
  }
  static void expect_dropped(const CellReplica& member) {
    EXPECT_TRUE(member.log->due_drops().empty());
    EXPECT_EQ(member.log->horizon().position, 12U);
    EXPECT_EQ(member.log->horizon().kept, (std::vector<PositionRange>{{4, 6}}));
    EXPECT_EQ(member.log->base().value(), "the base");
    EXPECT_EQ(member.log->read(2, 1).error().kind, StoreError::Kind::dropped);
    EXPECT_TRUE(member.log->read(5, 1));
    const auto verified = member.replica->verify(member.log->tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  CellReplica first_{chain_};
  MerkleFrontier tree_;
};

TEST_F(ReplicatedDrop, IsDueAtOthersAndMadeByThem) {  // K7
  CellReplica second(chain_);
  const HistoryDrop drop = this->drop();
  expect_dropped(first_);
  first_.append();
  second.follow();
  EXPECT_EQ(second.log->due_drops(), (std::vector<Position>{25}));
  EXPECT_EQ(second.log->horizon().position, 0U);
  EXPECT_EQ(second.log->read(2, 1)->size(), 1U);
  const auto staged = CellReplica::with_base(*second.log, stage_due(second, drop));
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_TRUE(second.log->commit_due_drop(*staged));
  expect_dropped(second);
  EXPECT_EQ(second.log->frontier(), first_.log->frontier());
  EXPECT_EQ(second.log->horizon().dropped_at, 25U);
  ASSERT_TRUE(second.log->purge_dropped(nullptr));
  ASSERT_TRUE(second.log->note_purged());
  second.restart();
  expect_dropped(second);
  EXPECT_TRUE(second.log->horizon().files_rewritten);
}

// Killed once it has the event, once it has the base as well, and once it has dropped.
TEST_F(ReplicatedDrop, IsFinishedByTheNextStart) {  // K7
  CellReplica second(chain_);
  const HistoryDrop drop = this->drop();
  second.follow();
  second.restart();
  EXPECT_EQ(second.log->due_drops(), (std::vector<Position>{25}));
  ASSERT_TRUE(CellReplica::with_base(*second.log, stage_due(second, drop)));
  second.restart();
  EXPECT_EQ(second.log->due_drops(), (std::vector<Position>{25}));
  EXPECT_EQ(second.log->horizon().position, 0U);
  const auto staged = CellReplica::with_base(*second.log, stage_due(second, drop));
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_TRUE(second.log->commit_due_drop(*staged));
  second.restart();
  expect_dropped(second);
}

TEST_F(ReplicatedDrop, ThatDiffersChangesNothing) {  // K7
  CellReplica second(chain_);
  HistoryDrop drop = this->drop();
  second.follow();
  drop.base = "another base";
  const auto staged = CellReplica::with_base(*second.log, stage_due(second, drop));
  ASSERT_TRUE(staged) << staged.error().message;
  const auto refused = second.log->commit_due_drop(*staged);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(second.log->due_drops(), (std::vector<Position>{25}));
  EXPECT_EQ(second.log->read(2, 1)->size(), 1U);
  second.restart();
  EXPECT_EQ(second.log->read(2, 1)->size(), 1U);
}

// The writer is killed after the cell's log has the event, and before it has dropped anything.
TEST_F(ReplicatedDrop, OfAWriterThatWasKilledIsDueAtItsNextStart) {  // K7
  const PreparedDrop prepared = prepare_drop(*first_.log, tree_, {{4, 6}}, "the base");
  ASSERT_EQ(first_.log->append(24, {&prepared.commit, 1}).status, AppendStatus::ok);
  first_.restart();
  EXPECT_EQ(first_.log->due_drops(), (std::vector<Position>{25}));
  const auto staged = CellReplica::with_base(*first_.log, stage_due(first_, prepared.drop));
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_TRUE(first_.log->commit_due_drop(*staged));
  expect_dropped(first_);
}

TEST_F(ReplicatedDrop, IsRefusedWhileOneIsDue) {  // K7
  CellReplica second(chain_);
  drop();
  second.take();
  const PreparedDrop prepared = prepare_drop(*second.log, tree_, {}, "the next base");
  const auto staged =
      CellReplica::with_base(*second.log, second.log->stage_drop(prepared.drop, nullptr));
  ASSERT_TRUE(staged) << staged.error().message;
  const auto refused = second.log->commit_drop(second.log->tail(), prepared.commit, *staged);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::in_use);
  EXPECT_EQ(chain_->links().back().last, 25U);
}

// Appends and follows go on between the steps; drops that follow one another are made in order.
TEST_F(ReplicatedDrop, AreMadeInOrderWhileOthersAreAppended) {  // K7
  CellReplica second(chain_);
  const HistoryDrop one = drop();
  const MerkleFrontier later = first_.log->frontier();
  first_.append();
  const PreparedDrop prepared = prepare_drop(*first_.log, later, {}, "the next base");
  const auto next =
      CellReplica::with_base(*first_.log, first_.log->stage_drop(prepared.drop, nullptr));
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_TRUE(first_.log->commit_drop(first_.log->tail(), prepared.commit, *next));
  second.take();
  EXPECT_EQ(second.log->due_drops(), (std::vector<Position>{25, 29}));
  for (const HistoryDrop& each : {one, prepared.drop}) {
    const auto staged = CellReplica::with_base(*second.log, stage_due(second, each));
    ASSERT_TRUE(staged) << staged.error().message;
    second.append();
    ASSERT_TRUE(second.log->commit_due_drop(*staged));
  }
  EXPECT_TRUE(second.log->due_drops().empty());
  EXPECT_EQ(second.log->horizon().position, 25U);
  EXPECT_EQ(second.log->base().value(), "the next base");
  first_.follow();
  EXPECT_EQ(first_.log->frontier(), second.log->frontier());
}

}  // namespace
}  // namespace signalbox::test
