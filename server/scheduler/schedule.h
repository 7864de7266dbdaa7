// When a loop is due: an interval ("10m", "1h30m"), or five cron fields in a time zone.
//
// An interval's times are the multiples of it since 1970 (UTC, without leap seconds), so they don't
// depend on when anything was started, and have nothing to do with a zone.
//
// Cron (cron_expression.h) and clocks that are set forward or back, daylight saving above all:
//   * If it names all 24 hours, it follows the clock: each minute of real time at which the clock
//     shows a named time is due. An hour that occurs twice has its ticks twice, one that doesn't
//     exist has none. "0 * * * *" so is due once in each real hour, wherever clocks change by
//     whole hours.
//   * Else each named time of each day is due once: at the first moment at which the clock shows it
//     or, if it doesn't exist, shows a later one. So what falls into a gap is due right after the
//     gap (once, for all that falls into it), and what occurs twice is due at its first occurrence.
// These are the rules of cron(8) of Debian, for changes of any size.
//
// A value; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "server/scheduler/cron_expression.h"
#include "server/scheduler/time_zone.h"

namespace signalbox {

inline constexpr std::int64_t schedule_interval_ms_min = 100;
inline constexpr std::int64_t schedule_interval_ms_max = 366LL * 24 * 60 * 60 * 1000;
inline constexpr std::size_t schedule_text_bytes_max = 256;

class Schedule {
 public:
  // `zone` as for TimeZone::find; it must exist for an interval too. An error is a sentence: what
  // is wrong and what to write instead.
  static tl::expected<Schedule, std::string> parse(std::string_view text,
                                                   std::string_view zone = TimeZone::utc);

  // As it was written, and the name of its zone.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& zone() const { return zone_.name(); }

  // The first due time after `utc_ns` (since 1970); none if it isn't before the year 2262, where
  // these numbers end.
  [[nodiscard]] std::optional<std::int64_t> next_after(std::int64_t utc_ns) const;

  // The due times in (after_ns, until_ns], the first `limit` of them, ascending.
  [[nodiscard]] std::vector<std::int64_t> due_between(std::int64_t after_ns, std::int64_t until_ns,
                                                      std::size_t limit) const;

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  struct Interval {
    std::int64_t ns = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
  };
  using When = std::variant<Interval, CronExpression>;

  Schedule(std::string text, TimeZone zone, When when)
      : text_(std::move(text)), zone_(std::move(zone)), when_(when) {}

  std::string text_;
  TimeZone zone_;
  When when_;
};

}  // namespace signalbox
