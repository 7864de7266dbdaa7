// Tests when a retention is worth an archive, and how much it writes. What it drops and keeps is
// tested with the real binary, in tests/scenarios/retention_test.cc.
#include "projections/retention_plan.h"

#include <gtest/gtest.h>

#include "projections/retention_on_disk.h"

namespace signalbox {
namespace {

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
