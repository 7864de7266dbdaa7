// Redactions in a cell: the writer records one, each replica redacts its own log in the write that
// has the event, and the text leaves the shared log; whenever any of them is killed (BEHAVIOURS,
// chapter K).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "domain/free_text.h"
#include "store/chain_erasure.h"
#include "store/merkle_tree.h"
#include "tests/store/cell_replica.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

class ReplicatedRedaction : public testing::Test {
 protected:
  ReplicatedRedaction() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    append_secret(*first_.log);
    first_.append();
  }

  // Has the writer redact the record with the secret, so that `reason` is in its place. Returns the
  // event's position.
  static Position redact(const CellReplica& writer,
                         const std::string& reason = std::string(blanked_text)) {
    ReplicatedEventLog& log = *writer.log;
    const Event replacement = RunEvent(RunCanceled{reason});
    Salt salt{};
    salt[0] = static_cast<std::byte>(log.tail());
    const auto staged = log.stage_redaction(secret_position, replacement, salt);
    EXPECT_TRUE(staged) << staged.error().message;
    Record note = redaction_of_secret(log.tail(), secret_position).note;
    set_digests(note, staged->redacted);
    const auto result = log.commit_redaction(log.tail(), {note}, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return note.position;
  }
  static void erase_files(const CellReplica& server) {
    const auto erasure = server.log->plan_erasure();
    ASSERT_TRUE(erasure) << erasure.error().message;
    ASSERT_TRUE(server.log->begin_erasure());
    const auto purged = server.log->purge_replaced(*erasure, nullptr);
    ASSERT_TRUE(purged) << purged.error().message;
    ASSERT_TRUE(server.log->note_erased(*erasure));
  }
  Stored<void> erase_from_chain(const CellReplica& writer, Position redacted_at) {
    MemorySharedLog shared(chain_);
    return signalbox::erase_from_chain(shared, *writer.replica, shared.state()->epoch, redacted_at);
  }
  [[nodiscard]] bool chain_has(const std::string& text) const {
    return std::ranges::any_of(chain_->links(), [&](const ChainLink& link) {
      return link.bytes.find(text) != std::string::npos;
    });
  }
  static std::string reason_in(const EventLog& log) {
    const auto records = log.read(secret_position, 1);
    EXPECT_TRUE(records) << records.error().message;
    return records ? event_as<RunCanceled>(records->front().event)->reason : "";
  }
  static std::string bytes_of(const RocksEventLog& log) {
    std::string bytes;
    EXPECT_TRUE(log.scan_entries(1, [&](std::string_view entry, Position) {
      bytes += entry;
      return true;
    }));
    return bytes;
  }
  // Follows one link.
  static void follow_one(const CellReplica& server) {
    const auto links = MemorySharedLog(server.chain).read(server.log->tail(), 1);
    ASSERT_TRUE(links && !links->empty());
    const auto followed = server.log->follow(links->front());
    ASSERT_TRUE(followed) << followed.error().message;
  }
  static void expect_redacted(const CellReplica& server, const CellReplica& like) {
    EXPECT_EQ(reason_in(*server.replica), blanked_text);
    EXPECT_EQ(server.log->frontier(), like.log->frontier());
    EXPECT_EQ(bytes_of(*server.replica), bytes_of(*like.replica));
    EXPECT_TRUE(server.log->pending_redactions().awaited.empty());
    const auto verified = server.replica->verify(server.log->tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  CellReplica first_{chain_};
};

TEST_F(ReplicatedRedaction, IsMadeByEachReplicaWithItsEvent) {  // K7
  CellReplica second(chain_);
  second.follow();
  EXPECT_EQ(reason_in(*second.replica), secret_text);
  const Position redacted_at = redact(first_);
  EXPECT_EQ(second.log->erased_through(false), second.log->synced());
  second.follow();
  expect_redacted(second, first_);
  for (const CellReplica* each : {&first_, &second}) {
    EXPECT_EQ(each->log->pending_redactions().due, (std::vector<Position>{redacted_at}));
    EXPECT_TRUE(each->log->pending_redactions().is_erasing);
    EXPECT_LT(each->log->erased_through(false), redacted_at);
    EXPECT_NE(files_with_secret(each->directory.path()), "");
    erase_files(*each);
    EXPECT_EQ(files_with_secret(each->directory.path()), "");
    EXPECT_FALSE(each->log->pending_redactions().is_erasing);
  }
  for (const CellReplica* each : {&first_, &second}) ASSERT_TRUE(each->log->sync());
  EXPECT_GE(second.log->erased_through(false), redacted_at);
  EXPECT_LT(first_.log->erased_through(true), redacted_at) << "the shared log has it yet";
  ASSERT_TRUE(erase_from_chain(first_, redacted_at));
  ASSERT_TRUE(first_.log->settle_redactions(redacted_at));
  EXPECT_GE(first_.log->erased_through(true), redacted_at);
  first_.append();
  second.follow();
  expect_redacted(second, first_);
  second.restart();
  expect_redacted(second, first_);
  EXPECT_EQ(second.log->pending_redactions().due, (std::vector<Position>{redacted_at}));
}

// Killed once it has followed, while it erases, and before it notes that.
TEST_F(ReplicatedRedaction, IsFinishedByTheNextStart) {  // K7
  CellReplica second(chain_);
  second.follow();
  const Position redacted_at = redact(first_);
  second.follow();
  const auto expect_erased_by_a_start = [&](const char* when) {
    const TemporaryDirectory killed;
    copy_directory(second.directory.path(), killed.path());
    const auto opened = open_log(killed.path());
    EXPECT_EQ(reason_in(*opened), blanked_text) << when;
    EXPECT_EQ(opened->frontier(), first_.log->frontier()) << when;
    EXPECT_TRUE(opened->verify(opened->tail())) << when;
    EXPECT_EQ(files_with_secret(killed.path()), "") << when;
    EXPECT_FALSE(opened->pending_redactions().is_erasing) << when;
    EXPECT_EQ(opened->pending_redactions().due, (std::vector<Position>{redacted_at})) << when;
  };
  expect_erased_by_a_start("followed");
  const auto erasure = second.log->plan_erasure();
  ASSERT_TRUE(second.log->begin_erasure());
  expect_erased_by_a_start("erasing");
  ASSERT_TRUE(second.log->purge_replaced(*erasure, nullptr));
  expect_erased_by_a_start("erased");
}

TEST_F(ReplicatedRedaction, LeavesTheSharedLog) {  // K7
  const Position redacted_at = redact(first_);
  EXPECT_TRUE(chain_has(secret_text));
  const auto erased = erase_from_chain(first_, redacted_at);
  ASSERT_TRUE(erased) << erased.error().message;
  EXPECT_FALSE(chain_has(secret_text));
  EXPECT_TRUE(erase_from_chain(first_, redacted_at)) << "again it does nothing";
  // Whoever joins later has the record before the event that proves it, and may be killed there.
  CellReplica late(chain_);
  follow_one(late);
  follow_one(late);
  EXPECT_EQ(late.log->pending_redactions().awaited, (std::vector<Position>{secret_position}));
  EXPECT_TRUE(late.replica->verify(late.log->tail()));
  late.restart();
  EXPECT_EQ(late.log->pending_redactions().awaited, (std::vector<Position>{secret_position}));
  late.follow();
  expect_redacted(late, first_);
  EXPECT_EQ(files_with_secret(late.directory.path()), "");
  EXPECT_FALSE(late.log->pending_redactions().is_erasing) << "it never had the text";
}

// The first one leaves a part of the text, which the second one takes, also where it came with the
// event.
TEST_F(ReplicatedRedaction, OfARecordThatWasRedactedBefore) {  // K7
  CellReplica second(chain_);
  second.follow();
  const Position first_at = redact(first_, std::string("left: ") + secret_text);
  first_.append();
  const Position second_at = redact(first_);
  EXPECT_TRUE(erase_from_chain(first_, first_at));
  EXPECT_TRUE(chain_has(secret_text));
  const auto erased = erase_from_chain(first_, second_at);
  ASSERT_TRUE(erased) << erased.error().message;
  EXPECT_FALSE(chain_has(secret_text));
  EXPECT_TRUE(erase_from_chain(first_, first_at)) << "there is nothing left of it";
  // One that had the record, and one that hadn't, both killed between the events.
  CellReplica late(chain_);
  for (CellReplica* each : {&second, &late}) {
    while (each->log->tail() < first_at) follow_one(*each);
    each->restart();
    EXPECT_EQ(each->log->pending_redactions().awaited, (std::vector<Position>{secret_position}));
    each->follow();
    expect_redacted(*each, first_);
    EXPECT_EQ(each->log->pending_redactions().due, (std::vector<Position>{first_at, second_at}));
  }
  erase_files(second);
  EXPECT_EQ(files_with_secret(second.directory.path()), "");
}

TEST_F(ReplicatedRedaction, IsFinishedByTheNextWriter) {  // K7
  CellReplica second(chain_);
  const Position redacted_at = redact(first_);
  second.take();
  EXPECT_EQ(second.log->pending_redactions().due, (std::vector<Position>{redacted_at}));
  // The former one doesn't know that it was deposed.
  MemorySharedLog shared(chain_);
  EXPECT_EQ(signalbox::erase_from_chain(shared, *first_.replica, 1, redacted_at).error().kind,
            StoreError::Kind::in_use);
  EXPECT_TRUE(chain_has(secret_text));
  ASSERT_TRUE(erase_from_chain(second, redacted_at));
  EXPECT_FALSE(chain_has(secret_text));
  ASSERT_TRUE(second.log->settle_redactions(redacted_at));
  EXPECT_TRUE(second.log->pending_redactions().due.empty());
  second.restart();
  EXPECT_TRUE(second.log->pending_redactions().due.empty());
}

TEST_F(ReplicatedRedaction, WithAnotherTextThanTheEventSaysIsAwaited) {  // K7
  CellReplica second(chain_);
  second.follow();
  const Position redacted_at = redact(first_);
  const ChainLink link = chain_->links().back();
  ChainLink forged = link;
  forged.bytes.clear();
  const auto parts = link_parts(link.bytes);
  for (const std::string_view entry : parts->entries) append_link_entry(entry, forged.bytes);
  append_link_replacement("any bytes", forged.bytes);
  ASSERT_EQ(forged.last, redacted_at);
  ASSERT_TRUE(second.log->follow(forged));
  EXPECT_EQ(second.log->pending_redactions().awaited, (std::vector<Position>{secret_position}));
  EXPECT_EQ(reason_in(*second.replica), secret_text);
  EXPECT_LT(second.log->erased_through(false), redacted_at);
}

// The database lost the event; the replica that has it puts it back with what others need for it.
TEST_F(ReplicatedRedaction, IsPutBackByARepair) {  // K7
  CellReplica second(chain_);
  second.follow();
  const auto before = chain_->links();
  const MerkleFrontier tree = first_.log->frontier();
  redact(first_);
  chain_->set_acknowledged(before.size());
  chain_->roll_back();
  const auto epoch = first_.reader.take(first_.reader.state()->epoch, {"server", "a"});
  ASSERT_TRUE(epoch);
  const auto put = first_.log->put_back(*epoch, before.back(), tree);
  ASSERT_TRUE(put) << put.error().message;
  second.follow();
  expect_redacted(second, first_);
}

}  // namespace
}  // namespace signalbox::test
