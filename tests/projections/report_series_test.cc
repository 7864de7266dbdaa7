// Tests how much was going on over time: the greatest numbers, but none that was never there.
#include "projections/report_series.h"

#include <gtest/gtest.h>

#include <vector>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

using Numbers = std::vector<std::int64_t>;

// A commit has one time. The end of an attempt and of its run are two events of one.
TEST(ReportSeriesTest, ARunThatEndsWithItsAttemptDoesNotWaitBetweenTheTwo) {  // O3
  ReportSeries series(0, 4 * ns_per_s, 4);
  series.add(0, 1, 0, 0);
  series.add(ns_per_ms, 0, 1, 0);
  series.add(2500 * ns_per_ms, 0, -1, 0);
  series.add(2500 * ns_per_ms, -1, 0, 0);
  const ReportedOverTime shown = std::move(series).over_time(0, 0);
  EXPECT_EQ(shown.span_ms, 1000);
  EXPECT_EQ(shown.waiting, (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(shown.at_work, (Numbers{1, 1, 1, 0}));
}

TEST(ReportSeriesTest, WhatIsThereAtTheEndIsNoPeak) {  // O3
  ReportSeries series(0, 2 * ns_per_s, 2);
  series.add(1500 * ns_per_ms, 3, 1, 0);
  series.add(1600 * ns_per_ms, -2, -1, 0);
  const ReportedOverTime shown = std::move(series).over_time(1, 0);
  EXPECT_EQ(shown.waiting.back(), 2);
  EXPECT_EQ(shown.waiting_now, 1);
  EXPECT_EQ(shown.at_work.back(), 1);
  EXPECT_EQ(shown.at_work_now, 0);
}

TEST(ReportSeriesTest, APeakOfOneNanosecondIsThere) {  // O3
  ReportSeries series(0, 2 * ns_per_s, 2);
  series.add(1500 * ns_per_ms, 7, 0, 0);
  series.add(1500 * ns_per_ms + 1, -7, 0, 0);
  EXPECT_EQ(std::move(series).over_time(0, 0).waiting, (Numbers{0, 7}));
}

// The clock may be set back.
TEST(ReportSeriesTest, ATimeBeforeTheOneBeforeCountsAsThatOne) {  // O3
  ReportSeries series(0, 2 * ns_per_s, 2);
  series.add(1500 * ns_per_ms, 1, 0, 3);
  series.add(100 * ns_per_ms, 4, 0, 0);
  series.add(200 * ns_per_ms, -5, 0, 2);
  const ReportedOverTime shown = std::move(series).over_time(0, 0);
  EXPECT_EQ(shown.waiting, (Numbers{0, 5}));
  EXPECT_EQ(shown.cost_microusd, (Numbers{0, 5}));
}

}  // namespace
}  // namespace signalbox
