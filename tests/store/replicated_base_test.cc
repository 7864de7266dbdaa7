// A redaction in a cell of a record that was kept when others were dropped: the state that took
// their place, which each replica has computed for itself, loses the texts in the write that has
// the event; whenever any of them is killed (BEHAVIOURS, chapter K).
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "domain/free_text.h"
#include "store/chain_erasure.h"
#include "store/merkle_tree.h"
#include "store/sha256.h"
#include "tests/eventually.h"
#include "tests/store/cell_replica.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

std::string reason_of(const Event& event) { return event_as<RunCanceled>(event)->reason; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const auto place = text.find(from); place != std::string::npos) {
    text.replace(place, from.size(), to);
  }
  return text;
}

// As far as these tests are concerned, a base is a text with that of the record.
Stored<std::string> redact_base(const EventLog& log, const Record& record,
                                const Event& replacement) {
  return log.base().map([&](const std::string& base) {
    return replaced(base, reason_of(record.event), reason_of(replacement));
  });
}

const std::string base_text = std::string("a base with ") + secret_text;
const std::string base_without = std::string("a base with ") + std::string(blanked_text);

// A server of the cell that knows what a base is.
struct BaseReplica : CellReplica {
  explicit BaseReplica(std::shared_ptr<MemoryChain> shared) : CellReplica(std::move(shared)) {
    log->set_redact_base(redact_base);
  }
  void restart() {
    CellReplica::restart();
    log->set_redact_base(redact_base);
  }
  // Makes the drop of the event at `dropped_at`, which is due, with this base.
  [[nodiscard]] Stored<void> make_due(const HistoryDrop& drop, Position dropped_at,
                                      const std::string& base) const {
    return with_base(*log, stage_due(drop, dropped_at, base))
        .and_then([this](const StagedDrop& staged) { return log->commit_due_drop(staged); });
  }
  [[nodiscard]] Stored<StagedDrop> stage_due(const HistoryDrop& drop, Position dropped_at,
                                             const std::string& base) const {
    const Position redacted_at = log->pending_redactions().latest;
    return log->stage_due_drop({drop.position, drop.kept, base}, dropped_at, redacted_at, nullptr);
  }
};

class ReplicatedBase : public testing::Test {
 protected:
  ReplicatedBase() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    append_secret(*first_.log);
    first_.append();
    tree_ = first_.log->frontier();
    first_.append();
  }

  // Has the writer drop the records of `tree` but for the commit with the secret.
  HistoryDrop drop(const MerkleFrontier& tree, const std::string& base = base_text) {
    const PreparedDrop prepared = prepare_drop(*first_.log, tree, {{1, 3}}, base);
    const auto staged =
        CellReplica::with_base(*first_.log, first_.log->stage_drop(prepared.drop, nullptr));
    EXPECT_TRUE(staged) << staged.error().message;
    const auto result = first_.log->commit_drop(first_.log->tail(), prepared.commit, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return prepared.drop;
  }
  // Makes it at another server.
  static void make(const BaseReplica& server, const HistoryDrop& drop) {
    const auto made = server.make_due(drop, server.log->due_drops().front(), drop.base);
    ASSERT_TRUE(made) << made.error().message;
  }
  // Has the writer redact the secret, so that `reason` is in its place. Returns the position of the
  // PayloadRedacted, which has that of the HistoryDropped before it if the base is renewed.
  Position redact(const std::string& reason = std::string(blanked_text), bool renews = true) {
    ReplicatedEventLog& log = *first_.log;
    const Event replacement = RunEvent(RunCanceled{reason});
    Salt salt{};
    salt[0] = static_cast<std::byte>(log.tail());
    auto staged = log.stage_redaction(secret_position, replacement, salt);
    EXPECT_TRUE(staged) << staged.error().message;
    Commit commit;
    if (renews) {
      const Horizon horizon = log.horizon();
      const Record record = log.read(secret_position, 1)->front();
      const std::string base = redact_base(log, record, replacement).value();
      HistoryDropped renewal =
          *event_as<HistoryDropped>(log.read_commit(horizon.dropped_at)->front().event);
      renewal.base = sha256(base);
      commit.push_back(sample_record(log.tail() + 1, ServerEvent(renewal)));
      staged->base = CellReplica::with_base(
                         log, log.stage_drop({horizon.position, horizon.kept, base}, nullptr))
                         .value();
    }
    commit.push_back(redaction_of_secret(log.tail() + commit.size(), secret_position).note);
    set_digests(commit.back(), staged->redacted);
    const auto result = log.commit_redaction(log.tail(), commit, *staged);
    EXPECT_TRUE(result && result->status == AppendStatus::ok);
    return commit.back().position;
  }
  void erase_from_chain(Position redacted_at) {
    MemorySharedLog shared(chain_);
    const auto erased =
        signalbox::erase_from_chain(shared, *first_.replica, shared.state()->epoch, redacted_at);
    ASSERT_TRUE(erased) << erased.error().message;
  }
  static void erase_files(const CellReplica& server) {
    const auto erasure = server.log->plan_erasure();
    ASSERT_TRUE(erasure) << erasure.error().message;
    ASSERT_TRUE(server.log->begin_erasure());
    const auto purged = server.log->purge_replaced(*erasure, nullptr);
    ASSERT_TRUE(purged) << purged.error().message;
    ASSERT_TRUE(server.log->note_erased(*erasure));
  }
  // Expects the record and the base without the secret, as the event at `renewed_at` says.
  static void expect_renewed(const RocksEventLog& log, Position renewed_at) {
    EXPECT_EQ(log.base().value(), base_without);
    EXPECT_EQ(log.horizon().dropped_at, renewed_at);
    EXPECT_EQ(reason_of(log.read(secret_position, 1)->front().event), blanked_text);
    EXPECT_TRUE(log.due_drops().empty());
    EXPECT_TRUE(log.pending_redactions().awaited.empty());
    const auto verified = log.verify(log.tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  BaseReplica first_{chain_};
  BaseReplica second_{chain_};
  MerkleFrontier tree_;
};

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
      second_.log->stage_drop({before.position, before.kept, base_without}, nullptr)));
  second_.restart();
  EXPECT_EQ(second_.log->horizon().base_key, before.base_key);
  EXPECT_EQ(second_.log->base().value(), base_text);
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
  log.set_redact_base(redact_base);
  const auto links = MemorySharedLog(chain_).read(log.tail(), 10);
  ASSERT_TRUE(links);
  for (const ChainLink& link : *links) {
    const auto followed = log.follow(link);
    ASSERT_TRUE(followed) << followed.error().message;
  }
  expect_renewed(*replica, redacted_at - 1);
  EXPECT_EQ(log.frontier(), first_.log->frontier());
}

// The record is an ordinary one then, and the drop is made as the later event says.
TEST_F(ReplicatedBase, OfADropThatIsDueIsThatOfTheLaterEvent) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  const Position dropped_at = second_.log->due_drops().front();
  const auto stale =
      CellReplica::with_base(*second_.log, second_.stage_due(dropped, dropped_at, dropped.base));
  ASSERT_TRUE(stale);
  const Position redacted_at = redact();
  second_.follow();
  EXPECT_EQ(second_.log->due_drops(), (std::vector<Position>{dropped_at, redacted_at - 1}));
  // What was planned before has the text.
  EXPECT_EQ(second_.log->commit_due_drop(*stale).error().kind, StoreError::Kind::rebuilding);
  EXPECT_EQ(second_.make_due(dropped, dropped_at, base_without).error().kind,
            StoreError::Kind::damaged)
      << "the first event says another base";
  // The base of the drop that was given up had the text, too.
  ASSERT_TRUE(
      CellReplica::with_base(*second_.log, second_.stage_due(dropped, dropped_at, dropped.base)));
  const TemporaryDirectory killed;
  copy_directory(second_.directory.path(), killed.path());
  EXPECT_EQ(open_log(killed.path())->due_drops().size(), 2U);
  EXPECT_EQ(files_with_secret(killed.path()), "");
  erase_files(second_);
  EXPECT_EQ(files_with_secret(second_.directory.path()), "");
  second_.restart();
  const auto made = second_.make_due(dropped, redacted_at - 1, base_without);
  ASSERT_TRUE(made) << made.error().message;
  expect_renewed(*second_.replica, redacted_at - 1);
  erase_files(second_);
  EXPECT_EQ(files_with_secret(second_.directory.path()), "");
}

// An earlier drop was made here and a later one wasn't: the base loses the text at once, although
// no event says the one that it is then.
TEST_F(ReplicatedBase, BeforeADropThatIsDueServesWithoutTheTexts) {  // K7
  const HistoryDrop one = drop(tree_);
  second_.follow();
  make(second_, one);
  const HistoryDrop next = drop(first_.log->frontier());
  second_.follow();
  const Position dropped_at = second_.log->due_drops().front();
  auto stale = CellReplica::with_base(*second_.log, second_.stage_due(next, dropped_at, next.base));
  ASSERT_TRUE(stale) << stale.error().message;
  const Position redacted_at = redact();
  second_.follow();
  EXPECT_EQ(second_.log->store_base_part(*stale).error().kind, StoreError::Kind::rebuilding)
      << "its beginning was removed";
  erase_files(second_);
  for (int opened = 0; opened < 2; ++opened) {
    EXPECT_EQ(second_.log->base().value(), base_without);
    EXPECT_EQ(second_.log->horizon().position, one.position);
    EXPECT_EQ(second_.log->due_drops(), (std::vector<Position>{dropped_at, redacted_at - 1}));
    EXPECT_TRUE(second_.replica->verify(second_.log->tail()));
    EXPECT_EQ(files_with_secret(second_.directory.path()), "");
    second_.restart();
  }
  const auto made = second_.make_due(next, redacted_at - 1, base_without);
  ASSERT_TRUE(made) << made.error().message;
  expect_renewed(*second_.replica, redacted_at - 1);
  second_.restart();
  expect_renewed(*second_.replica, redacted_at - 1);
}

// A drop that is due isn't made while the base is renewed, which depends on it.
TEST_F(ReplicatedBase, IsRenewedBeforeADropThatIsMadeMeanwhile) {  // K7
  const HistoryDrop one = drop(tree_);
  second_.follow();
  make(second_, one);
  const HistoryDrop next = drop(first_.log->frontier());
  second_.follow();
  const auto stale = CellReplica::with_base(
      *second_.log, second_.stage_due(next, second_.log->due_drops().front(), next.base));
  std::future<Stored<void>> dropped;
  second_.log->set_redact_base([&](const EventLog& log, const Record& record, const Event& event) {
    dropped = std::async(std::launch::async, [&] { return second_.log->commit_due_drop(*stale); });
    EXPECT_EQ(dropped.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    return redact_base(log, record, event);
  });
  redact();
  second_.follow();
  EXPECT_EQ(dropped.get().error().kind, StoreError::Kind::rebuilding) << "it has the text";
  EXPECT_EQ(second_.log->base().value(), base_without);
  EXPECT_EQ(second_.log->horizon().position, one.position);
}

// What another version computes, say: the server goes on without the texts, and what is due says
// that something is wrong.
TEST_F(ReplicatedBase, ThatWouldDifferServesWithoutTheTextsAndStaysDue) {  // K7
  const HistoryDrop dropped = drop(tree_);
  second_.follow();
  make(second_, dropped);
  second_.log->set_redact_base([](const EventLog&, const Record&, const Event&) {
    return Stored<std::string>("another base");
  });
  const Position redacted_at = redact();
  second_.follow();
  erase_files(second_);
  EXPECT_EQ(files_with_secret(second_.directory.path()), "");
  second_.restart();
  EXPECT_EQ(second_.log->base().value(), "another base");
  EXPECT_EQ(second_.log->due_drops(), (std::vector<Position>{redacted_at - 1}));
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
    EXPECT_EQ(second_.log->base().value(), base_text);
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
  ASSERT_TRUE(late.make_due(dropped, second_at - 1, base_without));
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
