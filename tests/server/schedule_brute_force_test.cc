// Compares schedules with a model that checks each minute of several years, with the C library's
// local time: random expressions, zones whose clocks change by an hour, by half an hour, never.
#include <gtest/gtest.h>

#include <ctime>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/scheduler/schedule.h"
#include "server/text/time_text.h"
#include "tests/fixtures/random_seed.h"

namespace signalbox {
namespace {

constexpr std::int64_t begin_s = 1'735'689'600;  // 2025-01-01T00:00:00Z
constexpr std::int64_t minutes_tested = 3LL * 365 * 24 * 60;

// A local time.
struct Wall {
  std::int8_t minute;
  std::int8_t hour;
  std::int8_t day;
  std::int8_t month;
  std::int8_t weekday;
  std::int64_t calendar;  // minutes since 1970 of the local calendar
};

Wall wall_of(const std::tm& parts, std::int64_t calendar) {
  const auto narrow = [](int number) { return static_cast<std::int8_t>(number); };
  return {narrow(parts.tm_min),     narrow(parts.tm_hour), narrow(parts.tm_mday),
          narrow(parts.tm_mon + 1), narrow(parts.tm_wday), calendar};
}

// Returns the zone's local time of each minute of UTC.
std::vector<Wall> walls_of(const std::string& zone) {
  ::setenv("TZ", zone.c_str(), 1);
  ::tzset();
  std::vector<Wall> walls;
  walls.reserve(minutes_tested);
  for (std::int64_t minute = 0; minute < minutes_tested; ++minute) {
    const auto utc_s = static_cast<std::time_t>(begin_s + minute * 60);
    std::tm parts{};
    ::localtime_r(&utc_s, &parts);
    walls.push_back(wall_of(parts, (utc_s + parts.tm_gmtoff) / 60));
  }
  ::unsetenv("TZ");
  ::tzset();
  return walls;
}

// Numbers from 0 to 63. The model asks for millions of them.
class Numbers {
 public:
  Numbers() = default;
  Numbers(std::initializer_list<int> numbers) {
    for (const int number : numbers) insert(number);
  }
  void insert(int number) { bits_ |= std::uint64_t{1} << number; }
  [[nodiscard]] bool contains(int number) const { return ((bits_ >> number) & 1U) != 0; }
  [[nodiscard]] int size() const { return std::popcount(bits_); }

 private:
  std::uint64_t bits_ = 0;
};

// A cron field as text, and the numbers that it stands for.
struct RandomField {
  std::string text;
  Numbers numbers;
  [[nodiscard]] bool begins_with_star() const { return text.front() == '*'; }
};

using Random = std::mt19937;

int pick(Random& random, int first, int last) {
  return std::uniform_int_distribution<int>(first, last)(random);
}

// Returns a field with numbers from `first` to `last`; ranges end at `high_max` at most.
RandomField random_field(Random& random, int first, int last, int high_max, int star_percent) {
  RandomField field;
  if (pick(random, 1, 100) <= star_percent) {
    field.text = "*";
    for (int number = first; number <= last; ++number) field.numbers.insert(number);
    return field;
  }
  const int items = pick(random, 1, 3);
  for (int item = 0; item < items; ++item) {
    if (item > 0) field.text += ",";
    const int low = pick(random, first, high_max);
    const int high = pick(random, low, high_max);
    const int step = pick(random, 1, std::max(1, (last - first) / 2));
    switch (pick(random, 0, 3)) {
      case 0:
        field.text += std::to_string(low);
        field.numbers.insert(low);
        break;
      case 1:
        field.text += std::to_string(low) + "-" + std::to_string(high);
        for (int number = low; number <= high; ++number) field.numbers.insert(number);
        break;
      case 2:
        field.text += std::to_string(low) + "-" + std::to_string(high) + "/" + std::to_string(step);
        for (int number = low; number <= high; number += step) field.numbers.insert(number);
        break;
      default:
        field.text += "*/" + std::to_string(step);
        for (int number = first; number <= last; number += step) field.numbers.insert(number);
    }
  }
  return field;
}

struct RandomCron {
  RandomField minute, hour, day, month, weekday;

  [[nodiscard]] std::string text() const {
    return minute.text + " " + hour.text + " " + day.text + " " + month.text + " " + weekday.text;
  }
  // Returns whether the expression names the local time. A range may end with 7 for Sunday.
  [[nodiscard]] bool names(const Wall& wall) const {
    const bool by_month = day.numbers.contains(wall.day);
    const bool by_week = weekday.numbers.contains(wall.weekday) ||
                         (wall.weekday == 0 && weekday.numbers.contains(7));
    const bool both_restricted = !day.begins_with_star() && !weekday.begins_with_star();
    return minute.numbers.contains(wall.minute) && hour.numbers.contains(wall.hour) &&
           month.numbers.contains(wall.month) &&
           (both_restricted ? by_month || by_week : by_month && by_week);
  }
};

RandomCron random_cron(Random& random) {
  RandomCron cron;
  cron.minute = random_field(random, 0, 59, 59, 10);
  // Prefers hours near the clock changes.
  cron.hour = random_field(random, 0, 23, pick(random, 0, 1) == 0 ? 4 : 23, 20);
  cron.day = random_field(random, 1, 31, 31, 50);
  cron.month = random_field(random, 1, 12, 12, 50);
  cron.weekday = random_field(random, 0, 6, 6, 50);
  if (pick(random, 0, 9) == 0) cron.weekday = {"5-7", {5, 6, 7}};
  return cron;
}

// Returns a local time by its calendar minutes, even one that the zone skips.
Wall wall_of_calendar(std::int64_t calendar) {
  const auto as_s = static_cast<std::time_t>(calendar * 60);
  std::tm parts{};
  ::gmtime_r(&as_s, &parts);
  return wall_of(parts, calendar);
}

std::vector<std::int64_t> model(const RandomCron& cron, const std::vector<Wall>& walls) {
  const bool has_every_hour = cron.hour.numbers.size() == 24;
  std::vector<std::int64_t> due;
  std::int64_t highest = walls.front().calendar - 1;
  for (std::size_t minute = 0; minute < walls.size(); ++minute) {
    const Wall& wall = walls[minute];
    bool is_due = false;
    if (has_every_hour) {
      is_due = cron.names(wall);
    } else if (wall.calendar > highest) {
      is_due = cron.names(wall);
      for (std::int64_t skipped = highest + 1; skipped < wall.calendar && !is_due; ++skipped) {
        is_due = cron.names(wall_of_calendar(skipped));
      }
    }
    highest = std::max(highest, wall.calendar);
    if (is_due) due.push_back((begin_s + static_cast<std::int64_t>(minute) * 60) * ns_per_s);
  }
  return due;
}

class ScheduleBruteForce : public testing::TestWithParam<const char*> {};

TEST_P(ScheduleBruteForce, AgreesWithEachMinuteOfThreeYears) {
  const std::vector<Wall> walls = walls_of(GetParam());
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("SIGNALBOX_SEED=" + std::to_string(seed));
  Random random(seed);
  constexpr std::size_t limit = 20'000;
  int compared = 0;
  for (int round = 0; round < 8; ++round) {
    const RandomCron cron = random_cron(random);
    SCOPED_TRACE(cron.text());
    const auto schedule = Schedule::parse(cron.text(), GetParam());
    std::vector<std::int64_t> expected = model(cron, walls);
    if (!schedule) {
      EXPECT_NE(schedule.error().find("never due"), std::string::npos) << schedule.error();
      EXPECT_TRUE(expected.empty());
      continue;
    }
    const std::int64_t last_ns = (begin_s + (minutes_tested - 1) * 60) * ns_per_s;
    if (expected.size() > limit) expected.resize(limit);
    const auto found = schedule->due_between(begin_s * ns_per_s - 1, last_ns, limit);
    const auto [one, other] =
        std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    ASSERT_TRUE(one == found.end() && other == expected.end())
        << "first difference: found " << (one == found.end() ? "none" : format_time(*one))
        << ", expected " << (other == expected.end() ? "none" : format_time(*other));
    // Starting from any moment must give the same answer.
    for (int question = 0; question < 200 && !expected.empty(); ++question) {
      const std::int64_t from_ns =
          begin_s * ns_per_s + std::uniform_int_distribution<std::int64_t>(
                                   0, expected.back() - begin_s * ns_per_s - 1)(random);
      ASSERT_EQ(schedule->next_after(from_ns),
                *std::upper_bound(expected.begin(), expected.end(), from_ns))
          << "from " << format_time(from_ns);
    }
    const std::size_t stride = expected.size() / 500 + 1;
    for (std::size_t index = 0; index < expected.size(); index += stride) {
      ASSERT_EQ(schedule->next_after(expected[index] - 1), expected[index]);
    }
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Zones, ScheduleBruteForce,
                         testing::Values("UTC", "Europe/Berlin", "America/New_York",
                                         "Australia/Lord_Howe", "Asia/Kathmandu", "Asia/Beirut",
                                         "Africa/Casablanca", "America/Santiago"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace signalbox
