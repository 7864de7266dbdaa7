// A redaction in a cell of a record that was kept when others were dropped: the state that took
// their place, which each replica has computed for itself, loses the texts in the write that has
// the event; whenever any of them is killed (BEHAVIOURS, chapter K).
#include "tests/store/replicated_base.h"

#include "tests/eventually.h"

namespace signalbox::test {
namespace {

TEST_F(ReplicatedBase, IsRenewedByEachReplicaWithTheRedaction) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  const Position redacted_at = redact();
  second_.follow();
  for (BaseReplica* each : {&first_, &second_}) {
    expect_renewed(*each->replica, redacted_at - 1);
    EXPECT_EQ(each->log->pending_redactions().due, (std::vector<Position>{redacted_at}));
    EXPECT_NE(files_with_secret(each->directory.path()), "");
    erase_files(*each);
    EXPECT_EQ(files_with_secret(each->directory.path()), "");
    each->restart();
    expect_renewed(*each->replica, redacted_at - 1);
  }
  EXPECT_EQ(first_.log->frontier(), second_.log->frontier());
}

TEST_F(ReplicatedBase, OnAFullDiskIsRenewedOnceThereIsSpace) {  // K7, K11
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  first_.append();
  second_.follow();
  second_.disk.fault = WriteFault::sync_fails;
  EXPECT_EQ(second_.log->sync().error().kind, StoreError::Kind::full);
  const Position redacted_at = redact();
  const auto link = MemorySharedLog(chain_).read(second_.log->tail(), 1).value().front();
  EXPECT_EQ(second_.log->follow(link).error().kind, StoreError::Kind::full);
  EXPECT_EQ(second_.log->begin_erasure().error().kind, StoreError::Kind::full);
  EXPECT_EQ(second_.log->note_purged().error().kind, StoreError::Kind::full);
  second_.disk.fault = WriteFault::none;
  Stored<FollowedLink> followed;
  ASSERT_TRUE(eventually([&] {
    followed = second_.log->follow(link);
    return followed || followed.error().kind != StoreError::Kind::full;
  }));
  ASSERT_TRUE(followed) << followed.error().message;
  expect_renewed(*second_.replica, redacted_at - 1);
}

// Killed once it has followed, and once it had stored the base but not the event.
TEST_F(ReplicatedBase, IsRenewedWheneverAReplicaIsKilled) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  const Horizon before = second_.log->horizon();
  ASSERT_TRUE(CellReplica::with_base(
      *second_.log,
      second_.log->stage_drop({before.position, before.kept, kept_base_without_text}, nullptr)));
  second_.restart();
  EXPECT_EQ(second_.log->horizon().base_key, before.base_key);
  EXPECT_EQ(second_.log->base().value(), kept_base_text);
  const Position redacted_at = redact();
  second_.follow();
  const TemporaryDirectory killed;
  copy_directory(second_.directory.path(), killed.path());
  const auto opened = open_log(killed.path());
  expect_renewed(*opened, redacted_at - 1);
  EXPECT_EQ(files_with_secret(killed.path()), "");
}

// The writer is killed after the cell's log has both events, and before its own replica has them.
TEST_F(ReplicatedBase, OfAWriterThatWasKilledIsRenewedByItsNextStart) {  // K7
  drop(tree_);
  const TemporaryDirectory killed;
  copy_directory(first_.directory.path(), killed.path());
  const Position redacted_at = redact();
  const auto replica = open_log(killed.path());
  ReplicatedEventLog log(*replica, std::make_unique<MemorySharedLog>(chain_),
                         [](const std::string&) {});
  log.set_redact_base(redact_kept_base);
  const auto links = MemorySharedLog(chain_).read(log.tail(), 10);
  ASSERT_TRUE(links);
  for (const ChainLink& link : *links) {
    const auto followed = log.follow(link);
    ASSERT_TRUE(followed) << followed.error().message;
  }
  expect_renewed(*replica, redacted_at - 1);
  EXPECT_EQ(log.frontier(), first_.log->frontier());
}

TEST_F(ReplicatedBase, ThatCantBeRedactedEndsFollowingBeforeTheEvent) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  const auto expect_refused = [&] {
    const Position tail = second_.log->tail();
    const auto links = MemorySharedLog(chain_).read(tail, 1);
    const auto refused = second_.log->follow(links->front());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, StoreError::Kind::damaged);
    EXPECT_NE(refused.error().message.find("signalbox cell seed"), std::string::npos);
    EXPECT_EQ(second_.log->tail(), tail);
    EXPECT_EQ(second_.log->base().value(), kept_base_text);
  };
  redact(std::string(blanked_text), /*renews=*/false);  // the writer's base had nothing of it
  expect_refused();
  second_.log->set_redact_base([](const EventLog&, const Record&, const Event&) {
    return Stored<std::string>(store_failure(StoreError::Kind::unsupported, "it has another run"));
  });
  expect_refused();
}

// The first redaction left a part of the text, and its replacement is gone with the second one.
TEST_F(ReplicatedBase, OfARecordThatWasRedactedTwice) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  const Position first_at = redact(std::string("left: ") + secret_text);
  erase_from_chain(first_at);
  const Position second_at = redact();
  erase_from_chain(second_at);
  BaseReplica late(chain_);
  for (BaseReplica* each : {&second_, &late}) {
    while (each->log->tail() < first_at) {
      ASSERT_TRUE(each->log->follow(MemorySharedLog(chain_).read(each->log->tail(), 1)->front()));
    }
    each->restart();
    EXPECT_EQ(each->log->pending_redactions().awaited, (std::vector<Position>{secret_position}));
    EXPECT_EQ(each->log->due_drops().back(), first_at - 1);
    each->follow();
    EXPECT_TRUE(each->log->pending_redactions().awaited.empty());
  }
  expect_renewed(*second_.replica, second_at - 1);
  // The late one has had the records from rows without the text, and drops them now.
  EXPECT_EQ(late.log->due_drops().size(), 3U);
  ASSERT_TRUE(late.make_due(dropped, second_at - 1, kept_base_without_text));
  expect_renewed(*late.replica, second_at - 1);
  EXPECT_EQ(files_with_secret(late.directory.path()), "");
}

// A repair puts both events into one link, as they were.
TEST_F(ReplicatedBase, IsPutBackByARepair) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  const auto before = chain_->links();
  const MerkleFrontier tree = first_.log->frontier();
  const Position redacted_at = redact();
  chain_->set_acknowledged(before.size());
  chain_->roll_back();
  const auto epoch = first_.reader.take(first_.reader.state()->epoch, {"server", "a"});
  ASSERT_TRUE(epoch);
  const auto put = first_.log->put_back(*epoch, before.back(), tree);
  ASSERT_TRUE(put) << put.error().message;
  second_.follow();
  expect_renewed(*second_.replica, redacted_at - 1);
}

// The event of an earlier redaction was kept with the record, and its replacement has the text.
TEST_F(ReplicatedBase, AnEarlierRedactionThatWasKeptLeavesTheSharedLogToo) {  // K7
  const Position first_at = redact(std::string("left: ") + secret_text, /*renews=*/false);
  erase_from_chain(first_at);
  first_.append();
  const PreparedDrop prepared =
      prepare_drop(*first_.log, first_.log->frontier(), {{1, 3}, {first_at, first_at}},
                   std::string("a base with left: ") + secret_text);
  const auto staged =
      CellReplica::with_base(*first_.log, first_.log->stage_drop(prepared.drop, nullptr));
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_TRUE(first_.log->commit_drop(first_.log->tail(), prepared.commit, *staged));
  const Position second_at = redact();
  erase_from_chain(second_at);
  for (const ChainLink& link : chain_->links()) {
    EXPECT_EQ(link.bytes.find(secret_text), std::string::npos) << link.last;
  }
}

}  // namespace
}  // namespace signalbox::test
