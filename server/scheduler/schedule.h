// The schedule of a loop: an interval ("10m", "1h30m"), or five cron fields in a time zone.
//
// An interval is due at its multiples since 1970 (UTC, without leap seconds). So its times depend
// neither on when the service was started nor on a zone.
//
// A cron schedule (cron_expression.h) treats changes of local time, such as daylight saving, so:
//   * If it names all 24 hours, it follows the clock: each minute of real time at which the clock
//     shows a named time is due. An hour that occurs twice has its ticks twice, an hour that is
//     skipped has none. So "0 * * * *" is due once in each real hour, wherever clocks change by
//     whole hours.
//   * Else each named time of each day is due once: at the first moment at which the clock shows it
//     or, if the time is skipped, a later one. So all times in a gap together are due once, right
//     after the gap, and a time that occurs twice is due at its first occurrence.
// These are the rules of Debian's cron(8), generalized to changes of any size.
//
// A Schedule is an immutable value and may be used on any thread.
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
  // Parses a schedule. `zone` is a name for TimeZone::find(), which must exist for an interval too.
  // The error is a sentence that says what is wrong and what to write instead.
  static tl::expected<Schedule, std::string> parse(std::string_view text,
                                                   std::string_view zone = TimeZone::utc);

  // Returns the schedule as written (trimmed), and the name of its zone.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& zone() const { return zone_.name(); }

  // Returns the first due time after `utc_ns` (ns since 1970, UTC); nullopt if it is after the year
  // 2262, where this representation ends.
  [[nodiscard]] std::optional<std::int64_t> next_after(std::int64_t utc_ns) const;

  // Returns the first `limit` due times in (after_ns, until_ns], ascending.
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
