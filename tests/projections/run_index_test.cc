// The run index: equal to the world and to a naive recomputation, each for the fields that it
// knows; pages, filters, catching up.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "domain/refusals.h"
#include "domain/text_parts.h"
#include "projections/memory_table.h"
#include "projections/rocks_table.h"
#include "projections/run_index.h"
#include "projections/versioned_table.h"
#include "store/memory_event_log.h"
#include "tests/domain/random_history.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/projections/naive_run_index.h"

namespace signalbox {
namespace {

RandomHistory random_history() {
  RandomHistory history;
  for (const Step& step : *random_steps()) history.take(step);
  return history;
}

// Applies the records in batches of random sizes.
void apply_in_batches(RunIndex& index, std::span<const Record> records) {
  while (!records.empty()) {
    const auto size = std::min<std::size_t>(records.size(), *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(index.apply(records.first(size)).has_value());
    records = records.subspan(size);
  }
}

void expect_as_in_the_world(const RunRow& row, const World& world) {
  const Run* run = world.find_run(row.run_id);
  if (run == nullptr) {
    RC_ASSERT(is_terminal(row.status));
    RC_ASSERT(world.ended_runs.find(row.run_id)->status == row.status);
    RC_ASSERT(world.ended_runs.find(row.run_id)->ended_at == row.ended_position);
    return;
  }
  RC_ASSERT(row.status == run->status);
  RC_ASSERT(row.station == run->definition().name);
  RC_ASSERT(row.station_index == run->current);
  RC_ASSERT(row.station_status == run->station().status);
  RC_ASSERT(row.attempts == run->station().attempts);
  RC_ASSERT(row.cancel_requested == run->cancel_requested);
  RC_ASSERT(row.ended_position == 0u);
  RC_ASSERT(row.ended_at_ns == 0);
  if (run->station().status == StationStatus::waiting) {
    RC_ASSERT(row.waiting_until_ns == run->station().waiting_until_ns);
  } else {
    RC_ASSERT(row.waiting_until_ns == 0);
  }
}

RC_GTEST_PROP(RunIndexTest, EqualsTheWorldAndANaiveRecomputation, ()) {
  const RandomHistory history = random_history();
  MemoryTable table;
  RunIndex index(table);
  apply_in_batches(index, history.records);
  RC_ASSERT(index.applied() == history.world.position);

  RunCounts counts;
  for (const auto& [id, naive] : naive_run_index(history.records)) {
    const auto row = index.find(id).value();
    RC_ASSERT(row.has_value());
    expect_as_in_the_world(*row, history.world);
    RC_ASSERT(row->goal == naive.row.goal);
    RC_ASSERT(row->project == naive.row.project);
    RC_ASSERT(row->labels == naive.row.labels);
    RC_ASSERT(row->pipeline == naive.row.pipeline);
    RC_ASSERT(row->stations == naive.row.stations);
    RC_ASSERT(row->started_position == naive.row.started_position);
    RC_ASSERT(row->started_at_ns == naive.row.started_at_ns);
    RC_ASSERT(row->last_position == naive.row.last_position);
    RC_ASSERT(row->updated_at_ns == naive.row.updated_at_ns);
    RC_ASSERT(index.run_positions(id).value() == naive.positions);
    if (!row->idempotency_key.empty()) {  // S2
      RC_ASSERT(index.find_by_idempotency_key(row->idempotency_key).value() == row);
    }
    ++counts.of(row->status);
  }
  RC_ASSERT(index.counts().value() == counts);
}

// The division of records into batches has no effect, and repeated records change nothing.
RC_GTEST_PROP(RunIndexTest, BatchesLeaveNoTraceAndAppliedRecordsAreSkipped, ()) {
  const RandomHistory history = random_history();
  MemoryTable tables[2];
  RunIndex whole(tables[0]);
  RC_ASSERT(whole.apply(history.records).has_value());
  RunIndex pieces(tables[1]);
  apply_in_batches(pieces, history.records);
  RC_ASSERT(pieces.apply(history.records).has_value());
  for (const RunId& id : history.started) {
    RC_ASSERT(whole.find(id).value() == pieces.find(id).value());
    RC_ASSERT(whole.run_positions(id).value() == pieces.run_positions(id).value());
  }
  RC_ASSERT(whole.counts().value() == pieces.counts().value());
}

// Records that are read from the log one by one leave the same rows.
RC_GTEST_PROP(RunIndexTest, AppliesALogWithoutHavingItInMemory, ()) {  // O4
  const RandomHistory history = random_history();
  RC_PRE(!history.records.empty());
  MemoryEventLog log;
  const Commit commit(history.records.begin(), history.records.end());
  RC_ASSERT(log.append(0, {&commit, 1}).status == AppendStatus::ok);
  MemoryTable tables[2];
  RunIndex whole(tables[0]);
  RC_ASSERT(whole.apply(history.records).has_value());
  RunIndex pieces(tables[1]);
  Position seen = 0;
  while (pieces.applied() < log.tail()) {
    const Position from = pieces.applied() + 1;
    const Position to = from + *rc::gen::inRange<Position>(0, 40);
    RC_ASSERT(pieces
                  .apply(log, from, to,
                         [&seen](const Record& record) { RC_ASSERT(record.position == ++seen); })
                  .has_value());
  }
  RC_ASSERT(seen == log.tail());
  for (const RunId& id : history.started) {
    RC_ASSERT(whole.find(id).value() == pieces.find(id).value());
    RC_ASSERT(whole.run_positions(id).value() == pieces.run_positions(id).value());
  }
  RC_ASSERT(whole.counts().value() == pieces.counts().value());
}

// All pages of a filter together list the runs that match it, in order, each once.
RC_GTEST_PROP(RunIndexTest, PagesAreWhatTheFilterSays, ()) {
  const RandomHistory history = random_history();
  RC_PRE(!history.started.empty());
  MemoryTable table;
  RunIndex index(table);
  apply_in_batches(index, history.records);

  RunFilter filter;
  const auto maybe = [] { return *rc::gen::inRange(0, 3) == 0; };
  if (maybe()) filter.status = static_cast<RunStatus>(*rc::gen::inRange(1, 6));
  if (maybe()) filter.project = "project-" + std::to_string(*rc::gen::inRange(0, 3));
  if (maybe()) filter.label = {"team", *rc::gen::element<std::string>("red", "blue", "green")};
  const auto some_time = [&] {
    return index.find(*rc::gen::elementOf(history.started)).value()->started_at_ns +
           *rc::gen::inRange(-1, 2);
  };
  if (maybe()) filter.started_from_ns = some_time();
  if (maybe()) filter.started_until_ns = some_time();

  std::vector<RunRow> expected;
  for (auto id = history.started.rbegin(); id != history.started.rend(); ++id) {
    const RunRow row = *index.find(*id).value();
    if (filter.matches(row)) expected.push_back(row);
  }
  const auto limit = *rc::gen::inRange<std::size_t>(1, 8);
  std::vector<RunRow> listed;
  Position cursor = 0;
  do {
    const RunPage page = index.list(filter, limit, cursor).value();
    RC_ASSERT(page.rows.size() <= limit);
    RC_ASSERT(page.next_cursor == 0 || page.rows.size() == limit);
    listed.insert(listed.end(), page.rows.begin(), page.rows.end());
    cursor = page.next_cursor;
  } while (cursor != 0);
  RC_ASSERT(listed == expected);
}

// Returns a history of `runs` runs, all but the last one of which are canceled: three records each.
std::vector<Record> short_runs(std::size_t runs, std::int64_t apart_ns = 1) {
  RandomHistory history;
  std::vector<Record> records;
  for (std::size_t number = 0; number < runs; ++number) {
    history.take({0, 0, 0});
    if (number + 1 < runs) history.take({14, 0, 0});
  }
  for (Record& record : history.records) {
    record.recorded_at_ns = static_cast<std::int64_t>(record.position) * apart_ns;
  }
  return history.records;
}

TEST(RunIndexPagingTest, PagesStayPutWhileRunsArrive) {
  const std::vector<Record> records = short_runs(20);
  const std::span<const Record> all(records);
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(all.first(30)).has_value());  // ten runs
  const RunPage first = index.list({}, 4).value();
  ASSERT_EQ(first.rows.size(), 4u);
  EXPECT_EQ(first.rows[0].started_position, 28u);
  ASSERT_TRUE(index.apply(all).has_value());
  const RunPage second = index.list({}, 4, first.next_cursor).value();
  ASSERT_EQ(second.rows.size(), 4u);
  EXPECT_EQ(second.rows[0].started_position, 16u);
  const RunPage third = index.list({}, 4, second.next_cursor).value();
  EXPECT_EQ(third.rows.size(), 2u);
  EXPECT_EQ(third.next_cursor, 0u);
}

TEST(RunIndexPagingTest, APageLooksAtSoMuchAndNoMore) {
  const std::vector<Record> records = short_runs(page_entries_max + 10);
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(records).has_value());
  RunFilter filter;
  filter.started_until_ns = 2;  // the first run only
  filter.status = RunStatus::canceled;
  std::size_t pages = 0;
  std::vector<RunRow> rows;
  // All runs are in the same hour, so the index can't skip any.
  for (Position cursor = 0; pages == 0 || cursor != 0; ++pages) {
    const RunPage page = index.list(filter, 5, cursor).value();
    rows.insert(rows.end(), page.rows.begin(), page.rows.end());
    cursor = page.next_cursor;
  }
  EXPECT_EQ(pages, 2u);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].started_position, 1u);
  // Totals and lists in another order look at so many as well: run_list_looked_at_max.
  RunFilter any_time;
  any_time.started_until_ns = std::numeric_limits<std::int64_t>::max();
  const auto counted = index.counts(any_time, page_entries_max + 1).value();
  ASSERT_TRUE(counted);
  EXPECT_FALSE(index.counts(any_time, page_entries_max).value());
  // The totals of all runs are known without a look at any of them.
  EXPECT_EQ(index.counts({}, 0).value(), counted);
  EXPECT_TRUE(index.list_by(RunOrder::updated, {}, 1, 0, page_entries_max + 1).value());
  EXPECT_FALSE(index.list_by(RunOrder::updated, {}, 1, 0, page_entries_max).value());
}

TEST(RunIndexPagingTest, AnEndOfAnIdIsLookedForAmongSoMany) {
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(short_runs(3)).has_value());
  const RunPage page = index.list({}, 3).value();
  std::vector<RunId> newest_first;
  for (const RunRow& row : page.rows) newest_first.push_back(row.run_id);
  std::ranges::sort(newest_first, std::greater<>());
  const std::string oldest = to_string(newest_first.back());
  const std::string tail = oldest.substr(oldest.size() - 12);
  // The service looks among id_tail_rows_max.
  EXPECT_EQ(index.find_by_tail(tail, 10, 3).value(), std::vector<RunId>{newest_first.back()});
  EXPECT_TRUE(index.find_by_tail(tail, 10, 2).value().empty());
}

TEST(RunIndexPagingTest, TimesAreFoundOverManyHoursAndWhenTheClockJumpsBack) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  std::vector<Record> records = short_runs(50, hour_ns);
  for (std::size_t i = 60; i < 70; ++i) records[i].recorded_at_ns -= 50 * hour_ns;
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(records).has_value());
  RunFilter filter;
  filter.started_from_ns = 11 * hour_ns;
  filter.started_until_ns = 16 * hour_ns;
  std::vector<Position> found;
  const RunPage page = index.list(filter, 100).value();
  for (const RunRow& row : page.rows) {
    found.push_back(row.started_position);
  }
  EXPECT_EQ(found, (std::vector<Position>{64, 61, 13}));
}

TEST(RunIndexTest, HeartbeatsLeaveNoTrace) {
  RandomHistory history;
  history.take({0, 0, 0});
  history.take({2, 0, 1});  // without a lock
  const auto rows_before = history.records.size();
  for (int i = 0; i < 100; ++i) history.take({11, 0, 0});
  ASSERT_EQ(history.records.size(), rows_before + 100);
  MemoryTable table;
  RunIndex index(table);
  ASSERT_TRUE(index.apply(history.records).has_value());
  EXPECT_EQ(index.run_positions(history.started[0]).value(), (std::vector<Position>{1, 2}));
  EXPECT_EQ(index.find(history.started[0]).value()->last_position, 2u);
  EXPECT_EQ(index.applied(), 102u);
}

TEST(RunIndexTest, ALongGoalIsCutBetweenCharacters) {
  std::string goal;
  while (goal.size() < 2 * RunRow::goal_bytes_max) goal += "…";
  const std::string_view cut = utf8_prefix(goal, RunRow::goal_bytes_max);
  EXPECT_EQ(cut.size(), RunRow::goal_bytes_max - RunRow::goal_bytes_max % 3);
  EXPECT_EQ(utf8_prefix("short", 5), "short");
}

TEST(RunIndexTest, ARecordOfAnUnknownRunMeansThatTheTableDoesNotFitTheLog) {
  const std::vector<Record> records = short_runs(3);
  MemoryTable table;
  ASSERT_TRUE(table.write({}, 1).has_value());  // as if the first record were in it
  RunIndex index(table);
  const auto applied = index.apply(records);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(index.applied(), 1u);
}

// The table isn't synced: after a crash it may be some batches behind, and catches up from there.
TEST(RunIndexTest, CatchesUpFromWhereverItIs) {
  RandomHistory history;
  for (int i = 0; i < 4000; ++i) {
    history.take({static_cast<std::uint8_t>(i * 7), static_cast<std::uint8_t>(i % 5),
                  static_cast<std::uint8_t>(i * 11)});
  }
  const std::span<const Record> all(history.records);
  ASSERT_GT(all.size(), 300u);
  TemporaryDirectory directory;
  MemoryTable memory;
  RunIndex expected(memory);
  ASSERT_TRUE(expected.apply(all).has_value());

  for (const std::size_t size : {std::size_t{100}, std::size_t{250}, all.size()}) {
    auto opened = RocksTable::open_or_recreate(directory.path() / "t", RunIndex::format);
    ASSERT_TRUE(opened.has_value());
    RunIndex index(*opened->table);
    ASSERT_TRUE(index.apply(all.first(size)).has_value());
    EXPECT_EQ(index.applied(), size);
  }
  auto opened = RocksTable::open_or_recreate(directory.path() / "t", RunIndex::format);
  RunIndex index(*opened->table);
  for (const RunId& id : history.started) {
    EXPECT_EQ(index.find(id).value(), expected.find(id).value());
    EXPECT_EQ(index.run_positions(id).value(), expected.run_positions(id).value());
  }
  EXPECT_EQ(index.counts().value(), expected.counts().value());
  EXPECT_EQ(index.list({}, 1000).value().rows, expected.list({}, 1000).value().rows);
}

// A table that counts the rows that scans go through.
class CountingTable final : public Table {
 public:
  [[nodiscard]] Stored<std::optional<std::string>> get(std::string_view key) const override {
    return rows_.get(key);
  }
  Stored<void> scan(std::string_view prefix, std::string_view from, ScanOrder order,
                    const Visit& visit) const override {
    return rows_.scan(prefix, from, order, [&](std::string_view key, std::string_view value) {
      ++scanned_;
      return visit(key, value);
    });
  }
  Stored<void> write(const TableBatch& batch, Position applied) override {
    return rows_.write(batch, applied);
  }
  [[nodiscard]] Position applied() const override { return rows_.applied(); }

  // Returns how many rows there were since the last call.
  std::size_t take_scanned() { return std::exchange(scanned_, 0); }

 private:
  MemoryTable rows_;
  mutable std::size_t scanned_ = 0;
};

// A list of a moment costs what it shows, wherever in a long log the moment is: neither the runs
// that came later nor those that have left a status are gone through.
TEST(RunIndexOfThePastTest, AListCostsWhatItShows) {  // O4
  const std::vector<Record> records = short_runs(500);
  CountingTable versions;
  VersionedTable rows(versions);
  RunIndex index(rows);
  for (const Record& record : records) ASSERT_TRUE(index.apply({&record, 1}).has_value());
  const auto opened = std::find_if(records.rbegin(), records.rend(), [](const Record& record) {
    return event_as<RunStarted>(record.event) != nullptr;
  });
  for (const Position at : {Position{30}, records.size() / 2, opened->position}) {
    const std::unique_ptr<Table> then = rows.at(at);
    const RunIndex past(*then);
    for (const auto status : {std::optional<RunStatus>(), std::optional(RunStatus::queued),
                              std::optional(RunStatus::running), std::optional(RunStatus::paused),
                              std::optional(RunStatus::canceled)}) {
      RunFilter filter;
      filter.status = status;
      (void)versions.take_scanned();
      const RunPage page = past.list(filter, 5).value();
      EXPECT_LE(versions.take_scanned(), 50U) << at << " " << (status ? name_of(*status) : "all");
      for (const RunRow& row : page.rows) EXPECT_LE(row.started_position, at);
      const std::size_t all = past.list(filter, records.size()).value().rows.size();
      EXPECT_EQ(page.rows.size(), std::min<std::size_t>(all, 5)) << at;
    }
  }
}

}  // namespace
}  // namespace signalbox
