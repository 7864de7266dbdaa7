// Tests formatting and parsing of times and durations.
#include "server/text/time_text.h"

#include <gtest/gtest.h>

#include <limits>

#include <rapidcheck/gtest.h>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

TEST(ProtocolTimeText, WritesNanosecondsInUtc) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(format_time(1'709'251'199 * ns_per_s + 1), "2024-02-29T23:59:59.000000001Z");
  EXPECT_EQ(format_time(-1), "1969-12-31T23:59:59.999999999Z");
}

TEST(ProtocolTimeText, ReadsWhatRfc3339Allows) {
  const std::int64_t leap_day = 1'709'251'199 * ns_per_s;
  EXPECT_EQ(parse_time("2024-02-29T23:59:59Z"), leap_day);
  EXPECT_EQ(parse_time("2024-02-29t23:59:59z"), leap_day);
  EXPECT_EQ(parse_time("2024-02-29 23:59:59.5Z"), leap_day + ns_per_s / 2);
  EXPECT_EQ(parse_time("2024-03-01T01:29:59+01:30"), leap_day);
  EXPECT_EQ(parse_time("2024-02-29T15:59:59.000000007-08:00"), leap_day + 7);
  EXPECT_EQ(parse_time("2261-12-31T00:00:00Z").has_value(), true);
}

TEST(ProtocolTimeText, RefusesTheRest) {
  for (const char* text : {"",
                           "now",
                           "2024",
                           "2024-02-29",
                           "2024-02-29T23:59:59",
                           "2024-13-01T00:00:00Z",
                           "2024-00-01T00:00:00Z",
                           "2024-01-32T00:00:00Z",
                           "2024-01-00T00:00:00Z",
                           "2024-02-30T00:00:00Z",
                           "2023-02-29T00:00:00Z",
                           "2100-02-29T00:00:00Z",
                           "2024-04-31T00:00:00Z",
                           "2024-01-01T24:00:00Z",
                           "2024-01-01T00:60:00Z",
                           "2024-01-01T00:00:00.Z",
                           "2024-01-01T00:00:00.1234567890Z",
                           "2024-01-01T00:00:00Zx",
                           "2024-1-01T00:00:00Z",
                           "-024-01-01T00:00:00Z",
                           "2024-01-01T00:00:00+1:00",
                           "2024-01-01T00:00:00+0100",
                           "2024-01-01T00:00:00+24:00",
                           "2024-01-01T00:00:00-01:60",
                           "9999-12-31T23:59:59Z",
                           "1600-01-01T00:00:00Z",
                           "2024-01-01T00:00:0 Z",
                           "+024-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

RC_GTEST_PROP(ProtocolTimeText, ATimeComesBack, ()) {
  const auto limit = std::numeric_limits<std::int64_t>::max() - ns_per_s;
  const auto ns = *rc::gen::inRange<std::int64_t>(-limit, limit);
  RC_ASSERT(parse_time(format_time(ns)) == std::optional(ns));
}

TEST(ProtocolTimeText, ReadsDurationsWithTheirUnit) {
  EXPECT_EQ(parse_duration_ms("0s"), 0);
  EXPECT_EQ(parse_duration_ms("500ms"), 500);
  EXPECT_EQ(parse_duration_ms("90s"), 90'000);
  EXPECT_EQ(parse_duration_ms("30m"), 1'800'000);
  EXPECT_EQ(parse_duration_ms("2h"), 7'200'000);
  EXPECT_EQ(parse_duration_ms("7d"), 604'800'000);
  for (const char* text : {"", "5", "s", "-5s", "+5s", "1.5h", "5 s", "5S", "1h30m", "5sec", "5min",
                           "99999999999999999999s", "9223372036854775807d", " 5s", "5s "}) {
    EXPECT_FALSE(parse_duration_ms(text)) << text;
  }
}

TEST(ProtocolTimeText, WritesTheShortestExactDuration) {
  EXPECT_EQ(format_duration_ms(0), "0s");
  EXPECT_EQ(format_duration_ms(1), "1ms");
  EXPECT_EQ(format_duration_ms(1500), "1500ms");
  EXPECT_EQ(format_duration_ms(90'000), "90s");
  EXPECT_EQ(format_duration_ms(1'800'000), "30m");
  EXPECT_EQ(format_duration_ms(86'400'000), "1d");
}

RC_GTEST_PROP(ProtocolTimeText, ADurationComesBack, ()) {
  const auto ms = *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
  RC_ASSERT(parse_duration_ms(format_duration_ms(ms)) == std::optional(ms));
}

}  // namespace
}  // namespace signalbox
