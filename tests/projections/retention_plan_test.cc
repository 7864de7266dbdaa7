// Tests when a retention is worth an archive, and how much it writes. What it drops and keeps is
// tested with the real binary, in tests/scenarios/retention_test.cc.
#include "projections/retention_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "projections/memory_table.h"
#include "projections/retention_on_disk.h"
#include "store/memory_event_log.h"

namespace signalbox {
namespace {

// Returns the horizon of a plan at `now`, in seconds as all times, for records of these times.
Position planned_horizon(const std::vector<std::int64_t>& times, std::int64_t until,
                         std::int64_t now) {
  MemoryEventLog log;
  for (const std::int64_t time : times) {
    Record record;
    record.position = log.tail() + 1;
    record.stream = Stream::server();
    record.recorded_at_ns = time * 1'000'000'000;
    record.actor = "signalbox";
    record.event = Event(ServerEvent(ClockJumped{}));
    const Commit commit{record};
    EXPECT_EQ(log.append(log.tail(), {&commit, 1}).status, AppendStatus::ok);
  }
  MemoryTable scratch;
  return plan_retention(log, until * 1'000'000'000, scratch, 0, now * 1'000'000'000)->horizon;
}

// The clock of one start was ahead: its records can't tell their age, so they go with the next ones
// that can.
TEST(RetentionPlan, ARecordOfAClockThatWasAheadGoesWithTheNextOne) {  // P8
  constexpr std::int64_t year = 365 * 86'400;
  EXPECT_EQ(planned_horizon({1, 2, year, 3, 4}, 3, 4), 4U);
  EXPECT_EQ(planned_horizon({1, 2, year, 4}, 3, 4), 2U);
  EXPECT_EQ(planned_horizon({1, 2, year}, 3, 4), 2U);
  EXPECT_EQ(planned_horizon({year}, 3, 4), 0U);
  EXPECT_EQ(planned_horizon({1, 2, 3}, 3, 4), 3U);
  EXPECT_EQ(planned_horizon({}, 3, 4), 0U);
  // A small difference is usual, and such a record tells its age.
  EXPECT_EQ(planned_horizon({1, 8, 3}, 3, 4), 1U);
}

TEST(RetentionPlan, ARecordOfAClockThatWasBehindMakesNoneBeforeItOld) {  // P8
  EXPECT_EQ(planned_horizon({1, 50, 2, 51}, 3, 60), 1U);
}

TEST(RetentionPlan, HousekeepingAloneIsArchivedOnceThereIsEnough) {  // P8
  RetentionPlan plan;
  plan.housekeeping_records = limits::housekeeping_records_min - 1;
  EXPECT_FALSE(plan.is_worthwhile());
  plan.housekeeping_records = limits::housekeeping_records_min;
  EXPECT_TRUE(plan.is_worthwhile());
  plan.housekeeping_records = 0;
  plan.work_records = 1;
  EXPECT_TRUE(plan.is_worthwhile());
}

// Of 256 records of which none is kept the log keeps one hash, of others each one's.
TEST(RetentionPlan, ADropWritesTheHashesOfWhatItDropsAsWell) {  // P8
  HistoryDrop drop;
  drop.position = 1024;
  drop.base = "base";
  const std::uintmax_t of_none_kept = drop_bytes(drop);
  EXPECT_GE(of_none_kept, 4U + 4 * 32);
  EXPECT_LT(of_none_kept, 256U * 32);
  const auto more_with = [&](std::vector<PositionRange> kept) {
    drop.kept = std::move(kept);
    return (drop_bytes(drop) - of_none_kept) / (256 * 32);
  };
  EXPECT_EQ(more_with({{1, 1}}), 1U);
  EXPECT_EQ(more_with({{1, 1}, {5, 9}, {256, 256}}), 1U);
  EXPECT_EQ(more_with({{256, 257}}), 2U);
  EXPECT_EQ(more_with({{3, 3}, {256, 257}, {300, 300}, {1024, 1024}}), 3U);
  EXPECT_EQ(more_with({{1, 1024}}), 4U);
}

}  // namespace
}  // namespace signalbox
