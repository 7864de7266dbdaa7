// Tests when a retention is worth an archive. What it drops and keeps is tested with the real
// binary, in tests/scenarios/retention_test.cc.
#include "projections/retention_plan.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace signalbox
