#include "server/scheduler/cron_expression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t shown_item_bytes_max = 64;
constexpr std::int64_t minutes_per_day = 24 * 60;

constexpr std::array<std::string_view, 12> month_names = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> day_names = {"SUN", "MON", "TUE", "WED",
                                                       "THU", "FRI", "SAT"};
constexpr std::array<int, 12> longest_month_days = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

struct Field {
  const char* name;
  int first;
  int last;
  std::span<const std::string_view> names;  // of the values from `first` on; may be empty
};

constexpr Field minute_field{"minute", 0, 59, {}};
constexpr Field hour_field{"hour", 0, 23, {}};
constexpr Field day_of_month_field{"day of month", 1, 31, {}};
constexpr Field month_field{"month", 1, 12, month_names};
constexpr Field day_of_week_field{"day of week", 0, 7, day_names};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nicknames = {{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

template <class T>
using Parsed = tl::expected<T, std::string>;

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return result;
}

tl::unexpected<std::string> wrong(const Field& field, std::string_view item,
                                  const std::string& why) {
  return tl::unexpected("cron field \"" + std::string(field.name) + "\", " +
                        shortened(with_replacements(item), shown_item_bytes_max) + ": " + why);
}

std::string values_of(const Field& field) {
  std::string text =
      "write a number from " + std::to_string(field.first) + " to " + std::to_string(field.last);
  if (!field.names.empty()) {
    text += " or a name from " + std::string(field.names.front()) + " to " +
            std::string(field.names.back());
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> number(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : whole_number<int>(text);
}

Parsed<int> value_of(const Field& field, std::string_view item, std::string_view text) {
  if (const auto value = number(text)) {
    if (*value >= field.first && *value <= field.last) return *value;
    return wrong(field, item, values_of(field));
  }
  const std::string name = upper(text);
  const auto found = std::find(field.names.begin(), field.names.end(), name);
  if (found == field.names.end()) return wrong(field, item, values_of(field));
  return field.first + static_cast<int>(found - field.names.begin());
}

// Parses "8-17", or one value, into first and last.
Parsed<std::pair<int, int>> range_of(const Field& field, std::string_view item,
                                     std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = TRY(value_of(field, item, text.substr(0, dash)));
  if (dash == std::string_view::npos) return std::pair(first, first);
  const auto last = TRY(value_of(field, item, text.substr(dash + 1)));
  const bool ends_on_sunday = &field == &day_of_week_field && last == 0 && first > 0;
  const int end = ends_on_sunday ? 7 : last;
  if (first > end) {
    return wrong(field, item,
                 "a range goes upwards; write two, such as " + std::to_string(first) + "-" +
                     std::to_string(field.last) + "," + std::to_string(field.first) + "-" +
                     std::to_string(end));
  }
  return std::pair(first, end);
}

Parsed<std::uint64_t> bits_of_item(const Field& field, std::string_view item) {
  const std::size_t slash = item.find('/');
  const std::string_view base = item.substr(0, slash);
  const bool is_every = base == "*";
  const bool is_range = is_every || base.find('-') != std::string_view::npos;
  const auto range = TRY(is_every ? Parsed<std::pair<int, int>>(std::pair(field.first, field.last))
                                  : range_of(field, item, base));
  int step = 1;
  if (slash != std::string_view::npos) {
    const auto wanted = number(item.substr(slash + 1));
    const int most = field.last - field.first;
    if (!wanted || *wanted < 1 || *wanted > most) {
      return wrong(field, item, "a step is a number from 1 to " + std::to_string(most));
    }
    if (!is_range) {
      return wrong(field, item,
                   "a step needs a range; write " + std::string(base) + "-" +
                       std::to_string(field.last) + "/" + std::to_string(*wanted));
    }
    step = *wanted;
  }
  std::uint64_t bits = 0;
  for (int value = range.first; value <= range.second; value += step) {
    bits |= std::uint64_t{1} << value;
  }
  return bits;
}

Parsed<std::uint64_t> bits_of_field(const Field& field, std::string_view text) {
  std::uint64_t bits = 0;
  for (const std::string_view item : split(text, ",")) {
    if (item.empty()) return wrong(field, text, "there is an empty item in the list");
    const auto more = TRY(bits_of_item(field, item));
    bits |= more;
  }
  return bits;
}

}  // namespace

tl::expected<CronExpression, std::string> CronExpression::parse(std::string_view text) {
  std::vector<std::string_view> fields = split(text, " \t");
  std::erase_if(fields, [](std::string_view field) { return field.empty(); });
  if (fields.size() == 1 && fields[0].starts_with('@')) {
    for (const auto& [nickname, meaning] : nicknames) {
      if (upper(fields[0]) == upper(nickname)) return parse(meaning);
    }
    return tl::unexpected(shortened(with_replacements(fields[0]), shown_item_bytes_max) +
                          " is unknown; write @hourly, @daily, @weekly, @monthly or @yearly");
  }
  if (fields.size() != 5) {
    return tl::unexpected(
        "cron has five fields (minute, hour, day of month, month, day of week), "
        "such as \"19,39 * * * *\"; there are " +
        std::to_string(fields.size()) + " here");
  }
  const std::array<const Field*, 5> order = {&minute_field, &hour_field, &day_of_month_field,
                                             &month_field, &day_of_week_field};
  std::array<std::uint64_t, 5> bits{};
  for (std::size_t index = 0; index < order.size(); ++index) {
    const auto parsed = TRY(bits_of_field(*order[index], fields[index]));
    bits[index] = parsed;
  }
  CronExpression cron;
  cron.minutes_ = bits[0];
  cron.hours_ = static_cast<std::uint32_t>(bits[1]);
  cron.days_of_month_ = static_cast<std::uint32_t>(bits[2]);
  cron.months_ = static_cast<std::uint32_t>(bits[3]);
  cron.days_of_week_ = static_cast<std::uint32_t>((bits[4] | bits[4] >> 7) & 0x7F);
  cron.either_day_ = !fields[2].starts_with('*') && !fields[4].starts_with('*');
  if (!cron.is_ever_due()) {
    return tl::unexpected("this is never due: none of the months (" + std::string(fields[3]) +
                          ") has a day " + std::string(fields[2]));
  }
  return cron;
}

// The day of the week can't make an expression impossible: every date, 29 February included, falls
// on every day of the week in some year.
bool CronExpression::is_ever_due() const {
  if (either_day_) return true;
  const int first_day = std::countr_zero(days_of_month_);
  for (std::size_t month = 1; month <= longest_month_days.size(); ++month) {
    if ((months_ >> month & 1) != 0 && first_day <= longest_month_days[month - 1]) return true;
  }
  return false;
}

bool CronExpression::has_day(unsigned day_of_month, unsigned day_of_week) const {
  const bool by_month = (days_of_month_ >> day_of_month & 1) != 0;
  const bool by_week = (days_of_week_ >> day_of_week & 1) != 0;
  return either_day_ ? by_month || by_week : by_month && by_week;
}

std::optional<int> CronExpression::first_of_day(int from_minute) const {
  const int from_hour = from_minute / 60;
  if ((hours_ >> from_hour & 1) != 0) {
    const std::uint64_t rest = minutes_ >> (from_minute % 60);
    if (rest != 0) return from_minute + std::countr_zero(rest);
  }
  const std::uint32_t later_hours = hours_ >> from_hour >> 1;
  if (later_hours == 0) return std::nullopt;
  const int hour = from_hour + 1 + std::countr_zero(later_hours);
  return hour * 60 + std::countr_zero(minutes_);
}

std::optional<std::int64_t> CronExpression::first_in(std::int64_t from_s, std::int64_t to_s) const {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::seconds;
  const seconds from{from_s};
  days day = floor<days>(from);
  std::int64_t minute = (from - day + seconds{59}) / std::chrono::minutes{1};
  if (minute == minutes_per_day) {
    ++day;
    minute = 0;
  }
  while (seconds{day}.count() < to_s) {
    const std::chrono::sys_days date{day};
    const std::chrono::year_month_day calendar{date};
    if ((months_ >> static_cast<unsigned>(calendar.month()) & 1) == 0) {
      const auto next_month = calendar.year() / calendar.month() + std::chrono::months{1};
      day = std::chrono::sys_days{next_month / 1}.time_since_epoch();
    } else {
      const unsigned day_of_week = std::chrono::weekday{date}.c_encoding();
      if (has_day(static_cast<unsigned>(calendar.day()), day_of_week)) {
        if (const auto found = first_of_day(static_cast<int>(minute))) {
          const std::int64_t found_s = seconds{day}.count() + std::int64_t{*found} * 60;
          return found_s < to_s ? std::optional(found_s) : std::nullopt;
        }
      }
      ++day;
    }
    minute = 0;
  }
  return std::nullopt;
}

}  // namespace signalbox
