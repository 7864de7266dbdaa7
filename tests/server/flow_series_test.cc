// Tests the series behind the charts of a forecast: bounded, and no peak is lost.
#include "server/replay/what_if/flow_measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST(FlowSeriesTest, HasTheGreatestNumberOfEachSpan) {
  FlowSeries series;
  series.note(5 * ns_per_s, 1, 0);
  series.note(5 * ns_per_s + 1, 2, 0);
  series.note(5 * ns_per_s + 2, 1, 1);
  series.note(5 * ns_per_s + 3 * ns_per_ms, 0, 1);
  const FlowOverTime shown = series.over_time();
  EXPECT_EQ(shown.span_ms, 1);
  // What began before a span is in it as well.
  EXPECT_EQ(shown.waiting, (Numbers{2, 1, 1, 1}));
  EXPECT_EQ(shown.at_work, (Numbers{1, 1, 1, 1}));
}

TEST(FlowSeriesTest, ALongHistoryHasLongerSpansAndAllItsPeaks) {
  FlowSeries series;
  series.note(0, 0, 0);
  for (std::int64_t hour = 1; hour <= 24; ++hour) {
    series.note(hour * 3600 * ns_per_s, static_cast<std::uint64_t>(hour), 1);
    series.note(hour * 3600 * ns_per_s + 1, 0, 0);
  }
  const FlowOverTime shown = series.over_time();
  ASSERT_LE(shown.waiting.size(), flow_spans_max);
  ASSERT_GT(shown.waiting.size(), flow_spans_max / 2);
  EXPECT_EQ(shown.waiting.size(), shown.at_work.size());
  EXPECT_EQ(*std::ranges::max_element(shown.waiting), 24U);
  EXPECT_EQ(std::ranges::count_if(shown.waiting, [](std::uint64_t number) { return number > 0; }),
            24);
}

Record record_at(std::int64_t at_ms, Event event, const RunId& run_id = {}) {
  Record record;
  record.stream = Stream::run(run_id);
  record.recorded_at_ns = at_ms * ns_per_ms;
  record.event = std::move(event);
  return record;
}

// A commit has one time. The end of an attempt and of its run are two events of one.
TEST(FlowSeriesTest, ARunThatEndsWithItsAttemptDoesNotWaitBetweenTheTwo) {
  FlowMeter meter;
  meter.apply(record_at(0, RunEvent{RunStarted{}}));
  meter.apply(record_at(1, StationEvent{StationClaimed{}}));
  meter.apply(record_at(3, StationEvent{StationSucceeded{}}));
  meter.apply(record_at(3, RunEvent{RunSucceeded{}}));
  const FlowOverTime shown = meter.over_time();
  EXPECT_EQ(shown.waiting, (Numbers{1, 1, 0, 0}));
  EXPECT_EQ(shown.at_work, (Numbers{0, 1, 1, 1}));
}

TEST(FlowSeriesTest, OfTwoTimesTheGreaterOneIsThatOfNineInTen) {
  FlowMeter meter;
  for (const std::int64_t took_ms : {34, 1075}) {
    RunId run_id{};
    run_id.bytes.back() = static_cast<std::uint8_t>(took_ms);
    meter.apply(record_at(0, RunEvent{RunStarted{}}, run_id));
    meter.apply(record_at(took_ms, RunEvent{RunSucceeded{}}, run_id));
  }
  const Spread& times = meter.measures().run_time;
  EXPECT_EQ(times.p50_ms, 34);
  EXPECT_EQ(times.p90_ms, 1075);
  EXPECT_EQ(times.max_ms, 1075);
}

// The wall clock may be set back.
TEST(FlowSeriesTest, ATimeBeforeTheFirstOneIsTheFirst) {
  FlowSeries series;
  series.note(10 * ns_per_s, 1, 0);
  series.note(9 * ns_per_s, 7, 0);
  EXPECT_EQ(series.over_time().waiting, (Numbers{7}));
}

}  // namespace
}  // namespace signalbox
