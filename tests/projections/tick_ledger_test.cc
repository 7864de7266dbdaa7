// The tick ledger: the events of each tick from its start to its finish, in pages. // T6
#include <gtest/gtest.h>

#include "projections/memory_table.h"
#include "projections/run_index.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class TickLedgerTest : public ::testing::Test {
 protected:
  Position happens(const TickEvent& noun) {
    Record record;
    record.position = ++tail;
    record.stream = Stream::tick(std::visit([](const auto& event) { return event.loop; }, noun));
    record.recorded_at_ns = static_cast<std::int64_t>(tail) * 1'000'000'000;
    record.actor = "uid:1";
    record.event = noun;
    pending.push_back(record);
    return record.position;
  }
  Position begins(const std::string& loop, const RunId& run = {}) {
    return happens(TickStarted{loop, "plan", "cron", 1000, run, "", 0});
  }
  // Applies the pending records as one batch.
  void apply() {
    const auto applied = index.apply(pending);
    EXPECT_TRUE(applied.has_value()) << applied.error().message;
    pending.clear();
  }
  TickPage page(const TickFilter& filter = {}, std::size_t limit = 100, Position cursor = 0) {
    const auto listed = index.ticks().list(filter, limit, cursor);
    EXPECT_TRUE(listed.has_value());
    return listed.value_or(TickPage{});
  }
  std::vector<Position> positions(const TickFilter& filter = {}) {
    std::vector<Position> found;
    for (const TickRow& row : page(filter).rows) found.push_back(row.position);
    return found;
  }

  using Positions = std::vector<Position>;
  MemoryTable table;
  RunIndex index{table};
  std::vector<Record> pending;
  Position tail = 0;
};

TEST_F(TickLedgerTest, HasAStartAndAFinishOfEachTick) {  // T6
  const Token good = begins("nightly");
  happens(TickSucceeded{"nightly", good, ""});
  const Token bad = begins("nightly");
  happens(TickFailed{"nightly", bad, "LOCK_LOST", "the lock is gone", ""});
  apply();
  const auto rows = page().rows;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].kind, TickRowKind::finish);
  EXPECT_EQ(rows[0].outcome, "failed");
  EXPECT_EQ(rows[0].code, "LOCK_LOST");
  EXPECT_EQ(rows[0].error, "the lock is gone");
  EXPECT_EQ(rows[0].token, bad);
  EXPECT_EQ(rows[0].stage, "plan") << "as its start said";
  EXPECT_EQ(rows[0].duration_ms, 1000);
  EXPECT_EQ(rows[1].kind, TickRowKind::start);
  EXPECT_EQ(rows[1].lease_ms, 1000);
  EXPECT_EQ(rows[2].outcome, "succeeded");
  EXPECT_EQ(rows[3].actor, "uid:1");
}

TEST_F(TickLedgerTest, WhatFollowsFindsItsStartInAnEarlierBatch) {
  const Token token = begins("nightly", uuid_of(7));
  apply();
  happens(TickSkipped{"nightly", "plan", "tick_in_progress", token});
  happens(TickTimedOut{"nightly", token, "plan", 1200, 1000, 1, uuid_of(7), ""});
  apply();
  TickIncompleteDetected detected;
  detected.loop = "nightly";
  detected.token = token;
  detected.evidence = "lease_over";
  happens(detected);
  happens(TickRecovered{"nightly", token, "looked at it", ""});
  apply();
  const auto rows = page({{}, uuid_of(7)}).rows;
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].kind, TickRowKind::recovered);
  EXPECT_EQ(rows[0].reason, "looked at it");
  EXPECT_EQ(rows[0].run_id, uuid_of(7));
  EXPECT_EQ(rows[1].kind, TickRowKind::incomplete);
  EXPECT_EQ(rows[1].error, "lease_over");
  EXPECT_EQ(rows[1].reason, "cron") << "as its start said";
  EXPECT_EQ(rows[2].kind, TickRowKind::timed_out);
  EXPECT_EQ(rows[2].code, "TIMEOUT");
  EXPECT_EQ(rows[3].kind, TickRowKind::skipped);
  for (const TickRow& row : rows) EXPECT_EQ(row.token, token);
}

TEST_F(TickLedgerTest, HasWhatIsKnownOfATickThatTheLogDidntStart) {
  happens(TickSkipped{"nightly", "", "tick_in_progress", 0});
  TickIncompleteDetected detected;
  detected.loop = "nightly";
  detected.run_id = uuid_of(7);
  happens(detected);
  happens(TickRecovered{"nightly", 0, "a foreign marker", "/root"});
  apply();
  const auto rows = page({"nightly", {}}).rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].reason, "a foreign marker");
  EXPECT_EQ(rows[0].run_root, "/root");
  EXPECT_EQ(rows[1].run_id, uuid_of(7));
  for (const TickRow& row : rows) EXPECT_EQ(row.token, 0u);
}

TEST_F(TickLedgerTest, IsListedByLoopAndByRunInPagesWithoutGaps) {
  for (int round = 0; round < 10; ++round) {
    const Token one = begins("a", round % 2 == 0 ? uuid_of(1) : RunId{});
    const Token other = begins("ab", uuid_of(1));
    happens(TickSucceeded{"a", one, ""});
    happens(TickSucceeded{"ab", other, ""});
    if (round % 3 == 0) apply();
  }
  apply();
  EXPECT_EQ(positions().size(), 40u);
  EXPECT_EQ(positions({"a", {}}).size(), 20u) << "not those of loop ab";
  EXPECT_EQ(positions({{}, uuid_of(1)}).size(), 30u);
  EXPECT_EQ(positions({"a", uuid_of(1)}).size(), 10u);
  EXPECT_EQ(positions({"b", {}}), Positions{});

  for (const TickFilter& filter :
       {TickFilter{}, TickFilter{"a", {}}, TickFilter{"a", uuid_of(1)}}) {
    Positions all;
    Position cursor = 0;
    do {
      const TickPage each = page(filter, 7, cursor);
      for (const TickRow& row : each.rows) all.push_back(row.position);
      EXPECT_LE(each.rows.size(), 7u);
      cursor = each.next_cursor;
    } while (cursor != 0);
    EXPECT_EQ(all, positions(filter));
  }
}

TEST_F(TickLedgerTest, AnEndWithoutAStartIsDamage) {
  happens(TickSucceeded{"nightly", 17, ""});
  const auto applied = index.apply(pending);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox
