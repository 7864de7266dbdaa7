#include "server/scheduler/schedule.h"

#include <algorithm>
#include <limits>

#include "domain/nanoseconds.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t last_second = std::numeric_limits<std::int64_t>::max() / ns_per_s;
// An upper bound for the difference between two UTC offsets of a zone.
constexpr std::int64_t offsets_apart_s_max = 2LL * 24 * 60 * 60;

std::int64_t floor_divided(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Parses a sum of durations such as "1h30m", larger units first. Returns nullopt for other text.
std::optional<std::int64_t> parse_interval_ms(std::string_view text) {
  std::int64_t sum_ms = 0;
  std::int64_t last_unit_ms = std::numeric_limits<std::int64_t>::max();
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    std::size_t end = digits;
    while (end < text.size() && !is_digit(text[end])) ++end;
    const auto part_ms = parse_duration_ms(text.substr(0, end));
    const auto unit_ms = parse_duration_ms("1" + std::string(text.substr(digits, end - digits)));
    if (!part_ms || !unit_ms || *unit_ms >= last_unit_ms ||
        __builtin_add_overflow(sum_ms, *part_ms, &sum_ms)) {
      return std::nullopt;
    }
    last_unit_ms = *unit_ms;
    text.remove_prefix(end);
  }
  return sum_ms;
}

// Returns the first second (UTC), not before `from_s`, at which the local clock shows a due time.
std::optional<std::int64_t> next_shown(const CronExpression& cron, const TimeZone& zone,
                                       std::int64_t from_s) {
  while (from_s <= last_second) {
    const ZonePeriod period = zone.period_at(from_s);
    const std::int64_t end_s = std::min(period.end_s, last_second + 1);
    const auto local_s = cron.first_in(from_s + period.offset_s, end_s + period.offset_s);
    if (local_s) return *local_s - period.offset_s;
    from_s = period.end_s;
  }
  return std::nullopt;
}

// Returns the first second (UTC), not before `from_s`, at which the local clock reaches a due time:
// shows it, or a later one if it was skipped, for the first time.
std::optional<std::int64_t> next_reached(const CronExpression& cron, const TimeZone& zone,
                                         std::int64_t from_s) {
  ZonePeriod period = zone.period_at(from_s);
  // The first local second that the clock has neither shown nor skipped before `from_s`.
  std::int64_t open_s = std::numeric_limits<std::int64_t>::min();
  if (period.begin_s < from_s) open_s = from_s + period.offset_s;
  for (ZonePeriod before = period; before.begin_s > from_s - offsets_apart_s_max;) {
    before = zone.period_at(before.begin_s - 1);
    open_s = std::max(open_s, before.end_s + before.offset_s);
  }
  while (period.begin_s <= last_second) {
    const std::int64_t end_s = std::min(period.end_s, last_second + 1);
    const auto local_s = cron.first_in(open_s, end_s + period.offset_s);
    if (local_s) return std::max(*local_s - period.offset_s, period.begin_s);
    open_s = std::max(open_s, end_s + period.offset_s);
    if (end_s > last_second) break;
    period = zone.period_at(end_s);
  }
  return std::nullopt;
}

}  // namespace

tl::expected<Schedule, std::string> Schedule::parse(std::string_view text, std::string_view zone) {
  text = trimmed(text);
  const auto refuse = [](std::string message) { return tl::unexpected(std::move(message)); };
  if (text.size() > schedule_text_bytes_max) {
    return refuse("a schedule has at most " + std::to_string(schedule_text_bytes_max) + " bytes");
  }
  auto found_zone = TimeZone::find(trimmed(zone));
  if (!found_zone) return refuse(found_zone.error());

  if (text.find_first_of(" \t") != std::string_view::npos || text.starts_with('@')) {
    const auto cron = CronExpression::parse(text);
    if (!cron) return refuse(cron.error());
    return Schedule(std::string(text), std::move(*found_zone), *cron);
  }
  const auto interval_ms = text.empty() ? std::nullopt : parse_interval_ms(text);
  if (!interval_ms) {
    return refuse("\"" + shortened(with_replacements(text), 64) +
                  "\" is not a schedule; write an interval such as \"10m\" or \"1h30m\", or five "
                  "cron fields such as \"19,39 * * * *\"");
  }
  if (*interval_ms < schedule_interval_ms_min || *interval_ms > schedule_interval_ms_max) {
    return refuse("an interval is from " + format_duration_ms(schedule_interval_ms_min) + " to " +
                  format_duration_ms(schedule_interval_ms_max) + ", not " + std::string(text));
  }
  return Schedule(std::string(text), std::move(*found_zone), Interval{*interval_ms * ns_per_ms});
}

std::optional<std::int64_t> Schedule::next_after(std::int64_t utc_ns) const {
  if (const auto* interval = std::get_if<Interval>(&when_)) {
    std::int64_t next_ns = 0;
    if (__builtin_mul_overflow(floor_divided(utc_ns, interval->ns) + 1, interval->ns, &next_ns)) {
      return std::nullopt;
    }
    return next_ns;
  }
  const auto& cron = std::get<CronExpression>(when_);
  const std::int64_t from_s = floor_divided(utc_ns, ns_per_s) + 1;
  const auto next_s =
      cron.has_every_hour() ? next_shown(cron, zone_, from_s) : next_reached(cron, zone_, from_s);
  if (!next_s) return std::nullopt;
  return *next_s * ns_per_s;
}

std::vector<std::int64_t> Schedule::due_between(std::int64_t after_ns, std::int64_t until_ns,
                                                std::size_t limit) const {
  std::vector<std::int64_t> due;
  while (due.size() < limit) {
    const auto next_ns = next_after(due.empty() ? after_ns : due.back());
    if (!next_ns || *next_ns > until_ns) break;
    due.push_back(*next_ns);
  }
  return due;
}

}  // namespace signalbox
