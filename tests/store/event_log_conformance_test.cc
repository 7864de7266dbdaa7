// The conformance suite of EventLog: appending, reading, redacting. What is dropped is in
// event_log_drop_conformance_test.cc.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "domain/limits.h"
#include "store/memory_shared_log.h"
#include "store/merkle_tree.h"
#include "tests/store/event_log_conformance.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Logs, EventLogConformance,
    testing::Values(
        LogKind{"Memory", [] { return std::make_unique<MemoryLogUnderTest>(); }},
        LogKind{"Rocks", [] { return std::make_unique<RocksLogUnderTest>(); }},
        LogKind{"ReplicatedMemory",
                [] {
                  return std::make_unique<ReplicatedLogUnderTest>(
                      std::make_unique<MemorySharedLog>(std::make_shared<MemoryChain>()));
                }},
        LogKind{"ReplicatedPostgres",
                [] {
                  return std::make_unique<ReplicatedLogUnderTest>(
                      std::make_unique<PostgresLog>(new_postgres_cell(shared_postgres_nodes())));
                }}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(EventLogConformance, IsEmptyAtFirst) {
  EXPECT_EQ(log().tail(), 0U);
  EXPECT_EQ(log().frontier(), MerkleFrontier{});
  const auto records = log().read(1, 10);
  ASSERT_TRUE(records);
  EXPECT_TRUE(records->empty());
  const auto commit = log().read_commit(1);
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().kind, StoreError::Kind::not_found);
}

TEST_P(EventLogConformance, GivesBackWhatWasAppended) {  // K1
  const AppendResult result = append({1, 3, 2});
  EXPECT_EQ(result.status, AppendStatus::ok);
  EXPECT_EQ(result.tail, 6U);
  EXPECT_EQ(log().tail(), 6U);
  const auto records = log().read(1, 100);
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(*records, expected(1, 6));
}

TEST_P(EventLogConformance, CarriesEveryTypeOfEvent) {
  const std::vector<Event> events = sample_events();
  Commit commit;
  for (std::size_t i = 0; i < events.size(); ++i) commit.push_back(sample_record(i + 1, events[i]));
  ASSERT_EQ(log().append(0, {&commit, 1}).status, AppendStatus::ok);
  const auto records = log().read(1, events.size());
  ASSERT_TRUE(records) << records.error().message;
  EXPECT_EQ(*records, commit);
}

TEST_P(EventLogConformance, RefusesAnyTailButItsOwn) {
  ASSERT_EQ(append({2}).status, AppendStatus::ok);
  for (const Position tail : {Position{0}, Position{1}, Position{3}}) {
    const std::vector<Commit> commits = {sample_commit(tail + 1, 1)};
    const AppendResult result = log().append(tail, commits);
    EXPECT_EQ(result.status, AppendStatus::conflict);
    EXPECT_EQ(result.tail, 2U);
  }
  EXPECT_EQ(*log().read(1, 10), expected(1, 2));
}

TEST_P(EventLogConformance, AppendsNothingAtAll) {
  const AppendResult result = log().append(0, {});
  EXPECT_EQ(result.status, AppendStatus::ok);
  EXPECT_EQ(result.tail, 0U);
}

TEST_P(EventLogConformance, ScansAnyRange) {
  ASSERT_EQ(append({1, 3, 2}).status, AppendStatus::ok);
  ASSERT_EQ(append({4}).status, AppendStatus::ok);
  for (Position from = 0; from <= 12; ++from) {
    for (Position to = 0; to <= 12; ++to) {
      std::vector<Record> seen;
      const auto last = log().scan(from, to, [&](Record&& record) {
        seen.push_back(std::move(record));
        return true;
      });
      ASSERT_TRUE(last) << last.error().message;
      const Position begin = std::max<Position>(from, 1);
      const Position end = std::min<Position>(to, 10);
      EXPECT_EQ(seen, expected(begin, end)) << from << " to " << to;
      EXPECT_EQ(*last, seen.empty() ? begin - 1 : end) << from << " to " << to;
    }
  }
}

TEST_P(EventLogConformance, StopsWhereTheVisitorSaysSo) {
  ASSERT_EQ(append({1, 3, 2}).status, AppendStatus::ok);
  for (Position stop = 1; stop <= 6; ++stop) {
    Position seen = 0;
    const auto last = log().scan(1, 6, [&](Record&& record) {
      seen = record.position;
      return record.position != stop;
    });
    ASSERT_TRUE(last);
    EXPECT_EQ(*last, stop);
    EXPECT_EQ(seen, stop);
  }
}

TEST_P(EventLogConformance, ReadsAtMostTheLimit) {
  ASSERT_EQ(append({1, 3, 2}).status, AppendStatus::ok);
  EXPECT_EQ(*log().read(2, 3), expected(2, 4));
  EXPECT_EQ(*log().read(5, 3), expected(5, 6));
  EXPECT_TRUE(log().read(2, 0)->empty());
  EXPECT_TRUE(log().read(7, 3)->empty());
  EXPECT_EQ(log().read(1, static_cast<std::size_t>(-1))->size(), 6U);
}

TEST_P(EventLogConformance, ReadsTheWholeCommitOfAPosition) {
  ASSERT_EQ(append({1, 3}).status, AppendStatus::ok);
  ASSERT_EQ(append({2}).status, AppendStatus::ok);
  EXPECT_EQ(*log().read_commit(1), expected(1, 1));
  for (Position position = 2; position <= 4; ++position) {
    EXPECT_EQ(*log().read_commit(position), expected(2, 4));
  }
  EXPECT_EQ(*log().read_commit(6), expected(5, 6));
  for (const Position position : {Position{0}, Position{7}}) {
    const auto commit = log().read_commit(position);
    ASSERT_FALSE(commit);
    EXPECT_EQ(commit.error().kind, StoreError::Kind::not_found);
  }
}

TEST_P(EventLogConformance, TakesACommitOfManyLargeRecords) {
  RunStarted started;
  started.input = std::string(50 * 1024, 'x');
  Commit commit;
  for (Position position = 1; position <= 300; ++position) {
    started.goal = "goal " + std::to_string(position);
    commit.push_back(sample_record(position, RunEvent(started)));
  }
  ASSERT_EQ(log().append(0, {&commit, 1}).status, AppendStatus::ok);
  EXPECT_EQ(*log().read_commit(150), commit);
}

TEST_P(EventLogConformance, TakesARecordOfTheGreatestLength) {
  RunStarted started;
  Record record = sample_record(1, RunEvent(started));
  // Bytes of such a record beside its input.
  constexpr std::size_t around = 500;
  started.input = std::string(limits::record_bytes_max - around, 'x');
  record.event = RunEvent(started);
  Commit commit = {record};
  ASSERT_EQ(log().append(0, {&commit, 1}).status, AppendStatus::ok);
  EXPECT_EQ(*log().read(1, 1), commit);
}

TEST_P(EventLogConformance, GrowsItsTreeByALeafARecord) {
  ASSERT_EQ(append({3, 1}).status, AppendStatus::ok);
  const MerkleFrontier before = log().frontier();
  EXPECT_EQ(before.leaves, 4U);
  EXPECT_EQ(before.subtrees.size(), 1U);
  ASSERT_EQ(append({3}).status, AppendStatus::ok);
  const MerkleFrontier after = log().frontier();
  EXPECT_EQ(after.leaves, 7U);
  ASSERT_EQ(after.subtrees.size(), 3U);
  EXPECT_EQ(after.subtrees.front(), before.subtrees.front());
}

TEST_P(EventLogConformance, ServesReadersWhileItGrows) {  // G15
  constexpr Position records = 600;
  std::atomic<bool> failed = false;
  std::thread reader([&] {
    Position next = 1;
    while (next <= records && !failed) {
      const Position tail = log().tail();
      const auto last = log().scan(next, tail, [&](Record&& record) {
        if (record != sample_record(next, sample_commit(next, 1).front().event)) failed = true;
        ++next;
        return true;
      });
      if (!last || *last != tail || next != tail + 1) failed = true;
    }
  });
  while (log().tail() < records) ASSERT_EQ(append({1, 2, 3}).status, AppendStatus::ok);
  reader.join();
  EXPECT_FALSE(failed);
}

using EventLogConformanceDeathTest = EventLogConformance;

// In memory only: a process that dies leaves its directory behind, and RocksDB's threads don't
// survive the fork. Both implementations share the tested code.
INSTANTIATE_TEST_SUITE_P(Logs, EventLogConformanceDeathTest,
                         testing::Values(LogKind{
                             "Memory", [] { return std::make_unique<MemoryLogUnderTest>(); }}),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(EventLogConformanceDeathTest, TakesAWrongNumberForABug) {
  const std::vector<Commit> gap = {sample_commit(2, 1)};
  EXPECT_DEATH(log().append(0, gap), "bug");
  const std::vector<Commit> empty = {Commit{}};
  EXPECT_DEATH(log().append(0, empty), "bug");
}

TEST_P(EventLogConformanceDeathTest, TakesARecordThatIsTooLongForABug) {
  RunStarted started;
  started.input = std::string(limits::record_bytes_max, 'x');
  const std::vector<Commit> commits = {{sample_record(1, RunEvent(started))}};
  EXPECT_DEATH(log().append(0, commits), "bug");
}

INSTANTIATE_TEST_SUITE_P(
    Logs, RedactableLogConformance,
    testing::Values(LogKind{"Memory", [] { return std::make_unique<MemoryLogUnderTest>(); }},
                    LogKind{"Rocks", [] { return std::make_unique<RocksLogUnderTest>(); }}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(RedactableLogConformance, RedactsInItsPlace) {
  append_secret(log());
  ASSERT_EQ(append({2}).status, AppendStatus::ok);
  const MerkleFrontier before = log().frontier();
  std::vector<Record> wanted = *log().read(1, 100);
  ASSERT_EQ(redact_secret(log()).status, AppendStatus::ok);
  EXPECT_EQ(log().tail(), 6U);

  wanted[secret_position - 1].event = RunEvent(RunCanceled{"[redacted]"});
  wanted[secret_position - 1].redacted = true;
  std::vector<Record> records = *log().read(1, 100);
  const Record note = records.back();
  records.pop_back();
  EXPECT_EQ(records, wanted);
  EXPECT_EQ(log().read_commit(secret_position)->at(1), wanted[secret_position - 1]);
  const auto* noted = event_as<PayloadRedacted>(note.event);
  ASSERT_NE(noted, nullptr);
  EXPECT_FALSE(noted->payload_digest.is_zero());
  EXPECT_FALSE(noted->replacement_digest.is_zero());

  // The tree has one more leaf, and the leaves before it are unchanged.
  EXPECT_EQ(log().frontier().leaves, before.leaves + 1);
  EXPECT_EQ(log().frontier().subtrees.front(), before.subtrees.front());
}

// G17
TEST_P(RedactableLogConformance, RedactsWhileOthersAppend) {  // G15
  append_secret(log());
  const Event replacement = redaction_of_secret(0, secret_position).replacement;
  const auto missing = log().stage_redaction(9, replacement, Salt{});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, StoreError::Kind::not_found);
  const auto staged = log().stage_redaction(secret_position, replacement, Salt{});
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_EQ(append({2}).status, AppendStatus::ok);
  EXPECT_FALSE(log().read(secret_position, 1)->front().redacted) << "it isn't committed";

  Record note = redaction_of_secret(5, secret_position).note;
  set_digests(note, staged->redacted);
  const auto early = log().commit_redaction(3, {note}, *staged);
  ASSERT_TRUE(early) << early.error().message;
  EXPECT_EQ(early->status, AppendStatus::conflict);
  const auto redacted = log().commit_redaction(5, {note}, *staged);
  ASSERT_TRUE(redacted) << redacted.error().message;
  EXPECT_EQ(redacted->status, AppendStatus::ok);
  EXPECT_EQ(redacted->tail, 6U);
  EXPECT_EQ(log().read(secret_position, 1)->front().event, replacement);
  EXPECT_TRUE(log().read(secret_position, 1)->front().redacted);
  EXPECT_EQ(log().read(6, 1)->front(), note);

  const auto erasure = log().plan_erasure();
  ASSERT_TRUE(erasure) << erasure.error().message;
  ASSERT_TRUE(log().begin_erasure());
  ASSERT_EQ(append({1}).status, AppendStatus::ok);
  ASSERT_TRUE(log().purge_replaced(*erasure, nullptr));
  ASSERT_TRUE(log().note_erased(*erasure));
  EXPECT_TRUE(log().plan_erasure()->keys.empty());
  EXPECT_EQ(log().read(secret_position, 1)->front().event, replacement);
}

TEST_P(RedactableLogConformance, RedactsNothingOfAnotherTail) {
  append_secret(log());
  Redaction redaction;
  redaction.position = 9;
  redaction.replacement = RunEvent(RunCanceled{});
  redaction.note = sample_record(3, AccessEvent(PayloadRedacted{}));
  const auto conflict = log().redact(2, redaction);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->status, AppendStatus::conflict);
  redaction.note.position = 4;
  const auto missing = log().redact(3, redaction);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, StoreError::Kind::not_found);
  EXPECT_EQ(log().tail(), 3U);
}

}  // namespace
}  // namespace signalbox::test
