#include "server/text/time_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <ctime>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array units = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000},
                              Unit{"s", 1000}, Unit{"ms", 1}};

// Reads exactly `digits` decimal digits and removes them from the front of `text`.
std::optional<int> parse_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + digits, number);
  if (failure != std::errc{} || end != text.data() + digits || text.front() == '-') {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  return number;
}

// Removes `expected` from the front of `text`; returns false if another character is there.
bool consume(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

// Writes `number`, which is at least 0, as `digits` decimal digits from `at` on.
void put_digits(std::string& text, std::size_t at, std::size_t digits, std::int64_t number) {
  for (std::size_t left = digits; left > 0; --left) {
    text[at + left - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

}  // namespace

std::string format_time(std::int64_t utc_ns) {
  using namespace std::chrono;
  // gmtime_r() takes a process-wide lock, and snprintf() was a quarter of the time that it took to
  // build the answer to a claim; so both are avoided. The date is computed from seconds: the start
  // of the day on which the range of 64-bit nanoseconds begins lies outside that range.
  std::int64_t whole_s = utc_ns / ns_per_s;
  std::int64_t fraction_ns = utc_ns % ns_per_s;
  if (fraction_ns < 0) {
    fraction_ns += ns_per_s;
    --whole_s;
  }
  const sys_seconds time{std::chrono::seconds(whole_s)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss<std::chrono::seconds> clock(time - day);
  std::string text = "0000-00-00T00:00:00.000000000Z";
  put_digits(text, 0, 4, static_cast<int>(date.year()));  // 64-bit nanoseconds end in 2262
  put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text, 11, 2, clock.hours().count());
  put_digits(text, 14, 2, clock.minutes().count());
  put_digits(text, 17, 2, clock.seconds().count());
  put_digits(text, 20, 9, fraction_ns);
  return text;
}

std::string lease_end_text(std::int64_t begun_ns, std::int64_t lease_ms) {
  return format_time(begun_ns + lease_ms * ns_per_ms);
}

std::optional<std::int64_t> parse_time(std::string_view text) {
  std::tm parts{};
  const auto year = parse_number(text, 4);
  if (!year || !consume(text, '-')) return std::nullopt;
  const auto month = parse_number(text, 2);
  if (!month || !consume(text, '-')) return std::nullopt;
  const auto day = parse_number(text, 2);
  if (!day || !(consume(text, 'T') || consume(text, 't') || consume(text, ' ')))
    return std::nullopt;
  const auto hour = parse_number(text, 2);
  if (!hour || !consume(text, ':')) return std::nullopt;
  const auto minute = parse_number(text, 2);
  if (!minute || !consume(text, ':')) return std::nullopt;
  const auto second = parse_number(text, 2);
  if (!second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // timegm() takes any number: 30 February would be 1 or 2 March.
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::int64_t fraction = 0;
  if (consume(text, '.')) {
    std::int64_t scale = ns_per_s / 10;
    std::size_t digits = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && digits < 9) {
      fraction += (text.front() - '0') * scale;
      scale /= 10;
      ++digits;
      text.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
  }
  std::int64_t offset_s = 0;
  if (!consume(text, 'Z') && !consume(text, 'z')) {
    const bool west = consume(text, '-');
    if (!west && !consume(text, '+')) return std::nullopt;
    const auto hours = parse_number(text, 2);
    if (!hours || !consume(text, ':')) return std::nullopt;
    const auto minutes = parse_number(text, 2);
    if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    offset_s = (*hours * 3600 + *minutes * 60) * (west ? -1 : 1);
  }
  if (!text.empty()) return std::nullopt;
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  std::int64_t utc_ns = 0;  // its range is the years 1678 to 2261
  if (__builtin_mul_overflow(static_cast<std::int64_t>(timegm(&parts)) - offset_s, ns_per_s,
                             &utc_ns) ||
      __builtin_add_overflow(utc_ns, fraction, &utc_ns)) {
    return std::nullopt;
  }
  return utc_ns;
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit_name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : units) {
    std::int64_t ms = 0;
    if (unit.name == unit_name && !__builtin_mul_overflow(number, unit.ms, &ms)) return ms;
  }
  return std::nullopt;
}

std::string format_duration_ms(std::int64_t ms) {
  for (const Unit& unit : units) {
    if (ms != 0 && ms % unit.ms == 0) return std::to_string(ms / unit.ms) + std::string(unit.name);
  }
  return "0s";
}

}  // namespace signalbox
