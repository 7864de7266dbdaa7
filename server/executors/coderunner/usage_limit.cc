#include "server/executors/coderunner/usage_limit.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "domain/nanoseconds.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t searched_bytes_max = 4 * 1024;  // what ended an agent is said at once

std::string searched_text(std::string_view text) {
  return lower_case(utf8_prefix(text, searched_bytes_max));
}

// A match and its groups; one that took no part in it is empty.
using MatchedText = std::vector<std::string>;

// The text is any bytes, and the pattern is of ASCII, so bytes are what is compared.
std::optional<MatchedText> search(const std::string& text, const RE2& pattern) {
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(pattern.NumberOfCapturingGroups()) +
                                      1);
  if (!pattern.Match(text, 0, text.size(), RE2::UNANCHORED, parts.data(),
                     static_cast<int>(parts.size()))) {
    return std::nullopt;
  }
  MatchedText match;
  for (const re2::StringPiece& part : parts) match.emplace_back(part.begin(), part.end());
  return match;
}

std::optional<std::int64_t> parse_timestamp(const std::string& text, std::int64_t now_ns) {
  static const RE2 reached(R"(limit reached\s*\|\s*(\d{9,11}))", RE2::Latin1);
  static const RE2 resets_at(R"(resets?_?at\\?"?\s*[:=]\s*(\d{9,11}))", RE2::Latin1);
  static const RE2 resets_in(R"(resets?_in_seconds\\?"?\s*[:=]\s*(\d{1,8}))", RE2::Latin1);
  static const RE2 timestamp(R"((\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(\.\d{1,9})?(z|[+-]\d\d:\d\d)))",
                             RE2::Latin1);
  if (const auto match = search(text, reached)) {
    return utc_ns_of_epoch(std::stoll((*match)[1]));
  }
  if (const auto match = search(text, resets_at)) {
    return utc_ns_of_epoch(std::stoll((*match)[1]));
  }
  if (const auto match = search(text, resets_in)) {
    return now_ns + std::stoll((*match)[1]) * ns_per_s;
  }
  if (const auto match = search(text, timestamp)) {
    std::string time = (*match)[1];
    std::transform(time.begin(), time.end(), time.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return parse_time(time);
  }
  return std::nullopt;
}

// Reads a span such as "in 5 days 22 hours 11 minutes".
std::optional<std::int64_t> parse_time_span(const std::string& text, std::int64_t now_ns) {
  static const RE2 span(
      R"((?:again|resets?|reset) in (?:(\d{1,3}) days?)?,? ?(?:(\d{1,4}) hours?)?,? ?)"
      R"((?:(\d{1,5}) minutes?)?,? ?(?:(\d{1,7}) seconds?)?)",
      RE2::Latin1);
  const auto match = search(text, span);
  if (!match) return std::nullopt;
  constexpr std::array<std::int64_t, 4> unit_s = {86'400, 3'600, 60, 1};
  std::int64_t span_s = 0;
  for (std::size_t unit = 0; unit < unit_s.size(); ++unit) {
    const std::string number = (*match)[unit + 1];
    if (!number.empty()) span_s += std::stoll(number) * unit_s[unit];
  }
  if (span_s == 0) return std::nullopt;
  return now_ns + span_s * ns_per_s;
}

// Sets the environment's TZ for its own lifetime.
class ScopedTimeZone {
 public:
  explicit ScopedTimeZone(const std::string& zone) : changed_(!zone.empty()) {
    if (!changed_) return;
    const char* const before = std::getenv("TZ");
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    ::setenv("TZ", zone.c_str(), 1);
    ::tzset();
  }
  ScopedTimeZone(const ScopedTimeZone&) = delete;
  ScopedTimeZone& operator=(const ScopedTimeZone&) = delete;
  ~ScopedTimeZone() {
    if (!changed_) return;
    if (was_set_) {
      ::setenv("TZ", before_.c_str(), 1);
    } else {
      ::unsetenv("TZ");
    }
    ::tzset();
  }

 private:
  bool changed_;
  bool was_set_ = false;
  std::string before_;
};

// Returns the zone's name in the spelling of the time zone database, from a name in any case; empty
// if the database doesn't have it.
std::string known_zone(const std::string& text, const std::string& lowered_name) {
  if (lowered_name.empty()) return {};
  if (lowered_name == "utc" || lowered_name == "gmt") return "UTC";
  const std::string lowered = searched_text(text);
  const std::string name = text.substr(lowered.find(lowered_name), lowered_name.size());
  if (name.find("..") != std::string::npos || name.front() == '/') return {};
  std::error_code error;
  return std::filesystem::is_regular_file("/usr/share/zoneinfo/" + name, error) ? name
                                                                                : std::string();
}

constexpr std::array<const char*, 12> months = {"jan", "feb", "mar", "apr", "may", "jun",
                                                "jul", "aug", "sep", "oct", "nov", "dec"};

// Returns the next time `when` after `now_s`, which is a `unit` later if it is over. A time that
// was just over is not that of the next day: agents leave out the seconds, so the limit ends within
// the minute that they name.
std::int64_t next_ns(std::tm when, int std::tm::*unit, std::time_t now_s) {
  std::tm first = when;
  const std::time_t named = std::mktime(&first);
  if (named > now_s) return std::int64_t{named} * ns_per_s;
  if (now_s < named + 60) return std::int64_t{named + 60} * ns_per_s;
  if (now_s < named + just_over_s) return std::int64_t{named} * ns_per_s;
  ++(when.*unit);
  return std::int64_t{std::mktime(&when)} * ns_per_s;
}

// Reads a time of day such as "resets 1:30am (Asia/Dhaka)", "resets Oct 9, 5pm" or "try again at
// 3:05 PM".
std::optional<std::int64_t> parse_time_of_day(const std::string& text, const std::string& lowered,
                                              std::int64_t now_ns) {
  static const RE2 time_of_day(
      R"((?:resets?|again)(?: at| on)? (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,?(?: \d{4},?)?)"
      R"((?: at)? )?(\d{1,2})(?::(\d\d))? ?([ap]m)(?: \(([a-z0-9_+/-]+)\))?)",
      RE2::Latin1);
  const auto match = search(lowered, time_of_day);
  if (!match) return std::nullopt;
  const std::string named = (*match)[6];
  const std::string zone = known_zone(text, named);
  if (!named.empty() && zone.empty()) return std::nullopt;  // a guess could be a day off
  const ScopedTimeZone scoped_zone(zone);
  const std::time_t now_s = now_ns / ns_per_s;
  std::tm when{};
  ::localtime_r(&now_s, &when);
  const std::string month = (*match)[1];
  const std::string minute = (*match)[4];
  when.tm_hour = std::stoi((*match)[3]) % 12 + ((*match)[5] == "pm" ? 12 : 0);
  when.tm_min = minute.empty() ? 0 : std::stoi(minute);
  when.tm_sec = 0;
  when.tm_isdst = -1;
  if (month.empty()) return next_ns(when, &std::tm::tm_mday, now_s);
  const auto place = std::find(months.begin(), months.end(), month);
  if (place == months.end()) return std::nullopt;
  when.tm_mon = static_cast<int>(place - months.begin());
  when.tm_mday = std::stoi((*match)[2]);
  return next_ns(when, &std::tm::tm_year, now_s);
}

}  // namespace

std::optional<std::int64_t> utc_ns_of_epoch(std::int64_t seconds) {
  if (seconds <= 0 || seconds > std::numeric_limits<std::int64_t>::max() / ns_per_s) {
    return std::nullopt;
  }
  return seconds * ns_per_s;
}

bool mentions_usage_limit(const std::string& text) {
  static constexpr std::array<std::string_view, 13> words = {
      "usage limit",        "usage_limit_reached", "hit your limit",
      "session limit",      "weekly limit",        "limit reached",
      "out of extra usage", "insufficient_quota",  "exceeded your current quota",
      "quota exceeded",     "rate_limit",          "workspace is out of credits",
      "hit your spend cap"};
  const std::string lowered = searched_text(text);
  return std::any_of(words.begin(), words.end(), [&lowered](std::string_view word) {
    return lowered.find(word) != std::string::npos;
  });
}

std::optional<std::int64_t> usage_limit_reset_at_ns(const std::string& text, std::int64_t now_ns) {
  const std::string lowered = searched_text(text);
  if (const auto time = parse_timestamp(lowered, now_ns)) return time;
  if (const auto time = parse_time_span(lowered, now_ns)) return time;
  return parse_time_of_day(text, lowered, now_ns);
}

}  // namespace signalbox
