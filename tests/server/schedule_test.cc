// Tests schedules with chosen cases: accepted and rejected expressions, and the days on which
// clocks are set forward or back.
#include "server/scheduler/schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <limits>

#include "domain/nanoseconds.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

Schedule schedule(const std::string& text, const std::string& zone = "UTC") {
  auto parsed = Schedule::parse(text, zone);
  if (!parsed) {
    ADD_FAILURE() << text << ": " << parsed.error();
    return *Schedule::parse("1h");
  }
  return *parsed;
}

std::string refusal(const std::string& text, const std::string& zone = "UTC") {
  const auto parsed = Schedule::parse(text, zone);
  return parsed ? "none" : parsed.error();
}

std::int64_t at(const std::string& time) {
  const auto utc_ns = parse_time(time);
  EXPECT_TRUE(utc_ns) << time;
  return utc_ns.value_or(0);
}

// Returns the scheduled times after `after` up to `until`, in UTC, without zero fractions.
std::vector<std::string> due(const Schedule& schedule, const std::string& after,
                             const std::string& until) {
  std::vector<std::string> texts;
  for (const std::int64_t utc_ns : schedule.due_between(at(after), at(until), 1000)) {
    EXPECT_EQ(utc_ns % ns_per_s, 0);
    texts.push_back(format_time(utc_ns).substr(0, 19) + "Z");
  }
  return texts;
}

using Times = std::vector<std::string>;

TEST(ScheduleInterval, IsAlignedToTheEpochAndStrictlyAfter) {
  const Schedule ten_minutes = schedule("10m");
  EXPECT_EQ(ten_minutes.next_after(0), 600 * ns_per_s);
  EXPECT_EQ(ten_minutes.next_after(-1), 0);
  EXPECT_EQ(ten_minutes.next_after(600 * ns_per_s - 1), 600 * ns_per_s);
  EXPECT_EQ(ten_minutes.next_after(600 * ns_per_s), 1200 * ns_per_s);
  EXPECT_EQ(ten_minutes.next_after(-600 * ns_per_s), 0);
  EXPECT_EQ(due(ten_minutes, "2026-11-20T11:05:00Z", "2026-11-20T11:30:00Z"),
            (Times{"2026-11-20T11:10:00Z", "2026-11-20T11:20:00Z", "2026-11-20T11:30:00Z"}));
  EXPECT_EQ(schedule("1h30m").next_after(0), 5400 * ns_per_s);
  EXPECT_EQ(schedule(" 1m500ms ").next_after(0), 60 * ns_per_s + ns_per_s / 2);
  EXPECT_EQ(schedule("5s", "Europe/Berlin"), schedule("5s", "Europe/Berlin"));
}

TEST(ScheduleInterval, EndsWithItsNumbers) {
  const std::int64_t last_ns = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(schedule("10m").next_after(last_ns));
  EXPECT_FALSE(schedule("366d").next_after(last_ns - ns_per_s));
  EXPECT_TRUE(schedule("10m").next_after(std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(schedule("* * * * *").next_after(last_ns));
  EXPECT_FALSE(schedule("0 3 * * *", "Europe/Berlin").next_after(last_ns));
  EXPECT_TRUE(
      schedule("0 3 * * *", "Europe/Berlin").next_after(std::numeric_limits<std::int64_t>::min()));
}

TEST(ScheduleCron, NamesMinutes) {
  EXPECT_EQ(due(schedule("19,39 * * * *"), "2026-11-20T22:39:00Z", "2026-11-21T00:00:00Z"),
            (Times{"2026-11-20T23:19:00Z", "2026-11-20T23:39:00Z"}));
  EXPECT_EQ(due(schedule("*/25 8-9 * * *"), "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"),
            (Times{"2026-11-20T08:00:00Z", "2026-11-20T08:25:00Z", "2026-11-20T08:50:00Z",
                   "2026-11-20T09:00:00Z", "2026-11-20T09:25:00Z", "2026-11-20T09:50:00Z"}));
  EXPECT_EQ(due(schedule("5 10-20/6 31 * *"), "2026-01-31T16:05:00Z", "2026-04-01T00:00:00Z"),
            (Times{"2026-03-31T10:05:00Z", "2026-03-31T16:05:00Z"}));
  EXPECT_EQ(due(schedule("59 23 29 feb *"), "2026-01-01T00:00:00Z", "2032-03-01T00:00:00Z"),
            (Times{"2028-02-29T23:59:00Z", "2032-02-29T23:59:00Z"}));
  EXPECT_EQ(schedule("0 0 29 2 *").next_after(at("2096-03-01T00:00:00Z")),
            at("2104-02-29T00:00:00Z"));
}

TEST(ScheduleCron, KnowsDaysOfTheWeek) {
  const Times sundays{"2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"};
  for (const char* text :
       {"0 0 * * 0", "0 0 * * 7", "0 0 * * sun", "0 0 * * SUN-SUN", "@weekly", "0 0 * * 7-7"}) {
    EXPECT_EQ(due(schedule(text), "2026-11-20T00:00:00Z", "2026-12-01T00:00:00Z"), sundays) << text;
  }
  const Times weekend{"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"};
  for (const char* text : {"0 0 * * 5-7", "0 0 * * FRI-SUN", "0 0 * * 5,6,0"}) {
    EXPECT_EQ(due(schedule(text), "2026-11-19T00:00:00Z", "2026-11-26T00:00:00Z"), weekend) << text;
  }
  EXPECT_EQ(due(schedule("0 0 * * */2"), "2026-11-21T00:00:00Z", "2026-11-29T00:00:00Z"),
            (Times{"2026-11-22T00:00:00Z", "2026-11-24T00:00:00Z", "2026-11-26T00:00:00Z",
                   "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z"}));
}

TEST(ScheduleCron, EitherDayIsEnoughWhenBothAreRestricted) {
  // The 13th, and each Friday.
  EXPECT_EQ(due(schedule("0 0 13 * FRI"), "2026-12-01T00:00:00Z", "2026-12-19T00:00:00Z"),
            (Times{"2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z",
                   "2026-12-18T00:00:00Z"}));
  // A field that begins with '*' doesn't count as restricted: Fridays that are on every second day.
  EXPECT_EQ(due(schedule("0 0 */2 * FRI"), "2026-12-01T00:00:00Z", "2026-12-31T00:00:00Z"),
            (Times{"2026-12-11T00:00:00Z", "2026-12-25T00:00:00Z"}));
  EXPECT_EQ(schedule("0 0 30 2 MON").next_after(at("2026-01-01T00:00:00Z")),
            at("2026-02-02T00:00:00Z"));
}

TEST(ScheduleCron, KnowsNicknames) {
  const auto next = [](const char* text) {
    return format_time(*schedule(text).next_after(at("2026-11-20T11:05:00Z"))).substr(0, 19);
  };
  EXPECT_EQ(next("@hourly"), "2026-11-20T12:00:00");
  EXPECT_EQ(next("@Daily"), "2026-11-21T00:00:00");
  EXPECT_EQ(next("@midnight"), "2026-11-21T00:00:00");
  EXPECT_EQ(next("@monthly"), "2026-12-01T00:00:00");
  EXPECT_EQ(next("@yearly"), "2027-01-01T00:00:00");
  EXPECT_EQ(next("@annually"), "2027-01-01T00:00:00");
}

// ---- clocks that are set forward or back ----

TEST(ScheduleDaylightSaving, WhatDoesNotExistIsDueRightAfterTheGap) {
  // Berlin, 29 March 2026: 01:59:59 is followed by 03:00:00.
  EXPECT_EQ(
      due(schedule("30 2 * * *", "Europe/Berlin"), "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z"),
      (Times{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}));
  // All times in the gap, and the one right after it, are one tick.
  EXPECT_EQ(due(schedule("*/15 2-3 * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z",
                "2026-03-29T12:00:00Z"),
            (Times{"2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z", "2026-03-29T01:30:00Z",
                   "2026-03-29T01:45:00Z"}));
  // Asked right before the gap, and right after it.
  const Schedule in_gap = schedule("30 2 * * *", "Europe/Berlin");
  const std::int64_t gap_ns = at("2026-03-29T01:00:00Z");
  EXPECT_EQ(in_gap.next_after(gap_ns - 1), gap_ns);
  EXPECT_EQ(in_gap.next_after(gap_ns), at("2026-03-30T00:30:00Z"));
  // New York, 8 March 2026.
  EXPECT_EQ(due(schedule("5,55 2 * * *", "America/New_York"), "2026-03-08T00:00:00Z",
                "2026-03-09T12:00:00Z"),
            (Times{"2026-03-08T07:00:00Z", "2026-03-09T06:05:00Z", "2026-03-09T06:55:00Z"}));
  // Lord Howe, 4 October 2026: 01:59:59 is followed by 02:30:00.
  EXPECT_EQ(due(schedule("15,45 2 * * *", "Australia/Lord_Howe"), "2026-10-03T12:00:00Z",
                "2026-10-04T12:00:00Z"),
            (Times{"2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z"}));
  // Samoa had no 30 December 2011: its times are due as the 31st begins.
  EXPECT_EQ(
      due(schedule("0 12 30 12 *", "Pacific/Apia"), "2011-01-01T00:00:00Z", "2012-06-01T00:00:00Z"),
      (Times{"2011-12-30T10:00:00Z"}));
}

TEST(ScheduleDaylightSaving, WhatOccursTwiceIsDueAtItsFirstOccurrence) {
  // Berlin, 25 October 2026: 02:59:59 CEST is followed by 02:00:00 CET.
  EXPECT_EQ(due(schedule("0,30 2-3 * * *", "Europe/Berlin"), "2026-10-24T22:00:00Z",
                "2026-10-25T12:00:00Z"),
            (Times{"2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z",
                   "2026-10-25T02:30:00Z"}));
  // Asked within the second occurrence, the answer is the next day.
  EXPECT_EQ(schedule("30 2 * * *", "Europe/Berlin").next_after(at("2026-10-25T01:10:00Z")),
            at("2026-10-26T01:30:00Z"));
  // Lord Howe, 5 April 2026: 01:59:59 is followed by 01:30:00.
  EXPECT_EQ(due(schedule("45 1 * * *", "Australia/Lord_Howe"), "2026-04-04T12:00:00Z",
                "2026-04-05T12:00:00Z"),
            (Times{"2026-04-04T14:45:00Z"}));
}

TEST(ScheduleDaylightSaving, AllHoursFollowTheClock) {
  EXPECT_EQ(
      due(schedule("0 * * * *", "Europe/Berlin"), "2026-10-24T23:30:00Z", "2026-10-25T03:00:00Z"),
      (Times{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z",
             "2026-10-25T03:00:00Z"}));
  EXPECT_EQ(due(schedule("30 0-23 * * *", "Europe/Berlin"), "2026-03-29T00:00:00Z",
                "2026-03-29T03:00:00Z"),
            (Times{"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"}));
  EXPECT_EQ(due(schedule("45 * * * *", "Australia/Lord_Howe"), "2026-04-04T14:00:00Z",
                "2026-04-04T16:20:00Z"),
            (Times{"2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z", "2026-04-04T16:15:00Z"}));
}

TEST(ScheduleDaylightSaving, ADayThatMidnightDoesNotExistOn) {
  // Beirut, 29 March 2026: 23:59:59 of the 28th is followed by 01:00:00.
  EXPECT_EQ(due(schedule("@daily", "Asia/Beirut"), "2026-03-27T23:00:00Z", "2026-03-30T00:00:00Z"),
            (Times{"2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"}));
}

TEST(ScheduleZone, OffsetsThatAreNoWholeHours) {
  EXPECT_EQ(
      due(schedule("0 6 * * *", "Asia/Kathmandu"), "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"),
      (Times{"2026-01-01T00:15:00Z", "2026-01-02T00:15:00Z"}));
}

TEST(ScheduleZone, LocalIsTheMachines) {
  const char* const before = std::getenv("TZ");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TZ", ":Asia/Tokyo", 1);
  EXPECT_EQ(schedule("0 9 * * *", "local").zone(), "Asia/Tokyo");
  EXPECT_EQ(schedule("0 9 * * *", "local").next_after(at("2026-01-01T00:00:00Z")),
            at("2026-01-02T00:00:00Z"));
  ::setenv("TZ", "Europe/Atlantis", 1);
  EXPECT_NE(refusal("10m", "local").find("no time zone Europe/Atlantis"), std::string::npos);
  ::unsetenv("TZ");
  EXPECT_TRUE(Schedule::parse("0 9 * * *", "local"));
  if (before != nullptr) ::setenv("TZ", kept.c_str(), 1);
}

TEST(ScheduleRefusal, SaysWhatToWriteInstead) {
  const auto expect_refusal = [](const std::string& text, const std::string& part) {
    EXPECT_NE(refusal(text).find(part), std::string::npos) << text << ": " << refusal(text);
  };
  for (const char* text : {"", "soon", "10", "10 m", "-5m", "5x", "1m1h", "1h2h", "m", "1.5h",
                           "99999999999999999999d", "9223372036854775807ms1d", "\xff\xfe"}) {
    EXPECT_NE(refusal(text), "none") << text;
  }
  expect_refusal("soon", "write an interval such as \"10m\"");
  expect_refusal("99ms", "from 100ms to 366d");
  expect_refusal("0s", "from 100ms to 366d");
  expect_refusal("367d", "from 100ms to 366d");
  expect_refusal("1 2 3 4", "there are 4 here");
  expect_refusal("* * * * * *", "there are 6 here");
  expect_refusal("60 * * * *", "cron field \"minute\", 60: write a number from 0 to 59");
  expect_refusal("* 24 * * *", "cron field \"hour\", 24: write a number from 0 to 23");
  expect_refusal("* * 0 * *", "from 1 to 31");
  expect_refusal("* * * 13 *", "from 1 to 12 or a name from JAN to DEC");
  expect_refusal("* * * * 8", "from 0 to 7 or a name from SUN to SAT");
  expect_refusal("* * * MAI *", "cron field \"month\", MAI");
  expect_refusal("* 22-6 * * *", "22-23,0-6");
  expect_refusal("5/15 * * * *", "write 5-59/15");
  expect_refusal("*/0 * * * *", "a step is a number from 1 to 59");
  expect_refusal("*/90 * * * *", "a step is a number from 1 to 59");
  expect_refusal("1,,2 * * * *", "empty item");
  expect_refusal("1, * * * *", "empty item");
  expect_refusal("*-5 * * * *", "from 0 to 59");
  expect_refusal("1-2-3 * * * *", "from 0 to 59");
  expect_refusal("-1 * * * *", "from 0 to 59");
  expect_refusal("? * * * *", "from 0 to 59");
  expect_refusal("@reboot", "write @hourly");
  expect_refusal("0 0 30 2 *", "never due: none of the months (2) has a day 30");
  expect_refusal("0 0 31 FEB,APR,JUN,SEP,NOV */2", "never due");
  expect_refusal(std::string(300, '1'), "at most 256 bytes");
}

TEST(ScheduleRefusal, BeginsBeyondTheLimits) {  // P8
  const auto of_interval = [](std::int64_t ms) { return refusal(std::to_string(ms) + "ms"); };
  EXPECT_EQ(of_interval(schedule_interval_ms_min), "none");
  EXPECT_NE(of_interval(schedule_interval_ms_min - 1), "none");
  EXPECT_EQ(of_interval(schedule_interval_ms_max), "none");
  EXPECT_NE(of_interval(schedule_interval_ms_max + 1), "none");
  const auto is_too_long = [](std::size_t bytes) {
    return refusal(std::string(bytes, '1')).find("at most 256 bytes") != std::string::npos;
  };
  EXPECT_FALSE(is_too_long(schedule_text_bytes_max));
  EXPECT_TRUE(is_too_long(schedule_text_bytes_max + 1));
}

TEST(ScheduleRefusal, NamesAZoneThatIsNotThere) {
  for (const char* zone : {"Europe/Atlantis", "../../etc/passwd", "right/UTC", "CET-1CEST"}) {
    EXPECT_NE(refusal("10m", zone).find("there is no time zone"), std::string::npos) << zone;
  }
  EXPECT_TRUE(Schedule::parse("10m", ""));
}

TEST(ScheduleSpeed, ARareDayIsFoundInLessThanAMillisecond) {
  const Schedule rare = schedule("59 23 29 2 *", "America/New_York");
  const std::int64_t from_ns = at("2096-03-01T12:00:00Z");
  const auto began = std::chrono::steady_clock::now();
  constexpr int times = 100;
  for (int time = 0; time < times; ++time) EXPECT_TRUE(rare.next_after(from_ns + time));
  const auto each = (std::chrono::steady_clock::now() - began) / times;
  EXPECT_LT(each, std::chrono::milliseconds(
                      10));  // includes the overhead of sanitizers and of a busy machine
  RecordProperty("ns_each", std::to_string(std::chrono::nanoseconds(each).count()));
}

}  // namespace
}  // namespace signalbox
