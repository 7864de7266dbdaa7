// Parses and evaluates the five fields of cron(5), on a calendar without time zone; schedule.h adds
// the zone.
//
//   minute 0-59   hour 0-23   day of month 1-31   month 1-12, JAN-DEC   day of week 0-7, SUN-SAT
//
// A field is a list (1,15) of numbers, ranges (8-17, MON-FRI) and steps (*/10, 8-17/2). 0 and 7 are
// Sunday. If day of month and day of week are both restricted, that is, neither begins with '*', a
// day is due if either names it; else both have to name it. These nicknames replace five fields:
// @hourly @daily @midnight @weekly @monthly @yearly @annually.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace signalbox {

class CronExpression {
 public:
  // Parses five fields or a nickname. The error is a sentence that says what to write instead. An
  // expression that is never due (30 February) is an error.
  static tl::expected<CronExpression, std::string> parse(std::string_view text);

  // Returns true if the hour field names all 24 hours, in whatever notation.
  [[nodiscard]] bool has_every_hour() const { return hours_ == (1U << 24) - 1; }

  // Returns the first due minute that begins in [from_s, to_s); nullopt if there is none. Times are
  // seconds since 1970 on a local calendar, whose days all have 24 hours. `to_s` must be before the
  // year 32000.
  [[nodiscard]] std::optional<std::int64_t> first_in(std::int64_t from_s, std::int64_t to_s) const;

  friend bool operator==(const CronExpression&, const CronExpression&) = default;

 private:
  CronExpression() = default;

  [[nodiscard]] bool is_ever_due() const;
  [[nodiscard]] bool has_day(unsigned day_of_month, unsigned day_of_week) const;
  // Returns the first due minute of a day, not before `from_minute`; in minutes since midnight.
  [[nodiscard]] std::optional<int> first_of_day(int from_minute) const;

  // Bit sets: bit n is set if the field names n.
  std::uint64_t minutes_ = 0;
  std::uint32_t hours_ = 0;
  std::uint32_t days_of_month_ = 0;
  std::uint32_t months_ = 0;
  std::uint32_t days_of_week_ = 0;  // 0 is Sunday
  bool either_day_ = false;         // a day is due if either day field names it
};

}  // namespace signalbox
