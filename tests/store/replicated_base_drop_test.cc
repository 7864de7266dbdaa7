// A redaction in a cell beside a drop of old records that a replica has yet to make (BEHAVIOURS,
// chapter K).
#include <chrono>
#include <future>

#include "tests/store/replicated_base.h"

namespace signalbox::test {
namespace {

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
  EXPECT_EQ(second_.make_due(dropped, dropped_at, kept_base_without_text).error().kind,
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
  const auto made = second_.make_due(dropped, redacted_at - 1, kept_base_without_text);
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
    EXPECT_EQ(second_.log->base().value(), kept_base_without_text);
    EXPECT_EQ(second_.log->horizon().position, one.position);
    EXPECT_EQ(second_.log->due_drops(), (std::vector<Position>{dropped_at, redacted_at - 1}));
    EXPECT_TRUE(second_.replica->verify(second_.log->tail()));
    EXPECT_EQ(files_with_secret(second_.directory.path()), "");
    second_.restart();
  }
  const auto made = second_.make_due(next, redacted_at - 1, kept_base_without_text);
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
    return redact_kept_base(log, record, event);
  });
  redact();
  second_.follow();
  EXPECT_EQ(dropped.get().error().kind, StoreError::Kind::rebuilding) << "it has the text";
  EXPECT_EQ(second_.log->base().value(), kept_base_without_text);
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

}  // namespace
}  // namespace signalbox::test
