#include "tools/cli/elapsed_text.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "server/scheduler/time_zone.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[64];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::time_t seconds_of(std::int64_t time_ns) { return time_ns / 1'000'000'000; }

std::int64_t local_offset_s(std::time_t time_s) {
  std::tm fields{};
  localtime_r(&time_s, &fields);
  return fields.tm_gmtoff;
}

// "Z", "+02", "-03:30".
std::string offset_text(std::int64_t offset_s) {
  if (offset_s == 0) return "Z";
  const long long minutes = std::llabs(offset_s) / 60;
  const char* const sign = offset_s < 0 ? "-" : "+";
  if (minutes % 60 == 0) return formatted("%s%02lld", sign, minutes / 60);
  return formatted("%s%02lld:%02lld", sign, minutes / 60, minutes % 60);
}

// Formats a time, whose zone has the offset `offset_s` then and `now_offset_s` now. `clock` is a
// format of strftime().
std::string time_at_offset(std::int64_t time_ns, std::int64_t offset_s, std::int64_t now_ns,
                           std::int64_t now_offset_s, const char* clock) {
  const std::time_t then_s = seconds_of(time_ns) + offset_s;
  const std::time_t now_s = seconds_of(now_ns) + now_offset_s;
  std::tm then{};
  std::tm now{};
  gmtime_r(&then_s, &then);
  gmtime_r(&now_s, &now);
  const bool same_day = then.tm_year == now.tm_year && then.tm_yday == now.tm_yday;
  char text[64];
  const std::string format = same_day ? std::string(clock) : "%Y-%m-%d " + std::string(clock);
  return std::string(text, std::strftime(text, sizeof text, format.c_str(), &then));
}

std::string milliseconds_text(std::int64_t time_ns) {
  return formatted(".%03d", static_cast<int>(time_ns / 1'000'000 % 1000));
}

}  // namespace

std::string short_duration(std::int64_t ns) {
  if (ns < 0) return "-" + short_duration(-ns);
  const long long ms = ns / 1'000'000;
  const long long seconds = ms / 1000;
  if (ms < 1000) return formatted("%lldms", ms);
  if (seconds < 10) return formatted("%lld.%llds", seconds, ms % 1000 / 100);
  if (seconds < 60) return formatted("%llds", seconds);
  if (seconds < 3600) return formatted("%lldm %02llds", seconds / 60, seconds % 60);
  if (seconds < 86400) return formatted("%lldh %02lldm", seconds / 3600, seconds % 3600 / 60);
  return formatted("%lldd %lldh", seconds / 86400, seconds % 86400 / 3600);
}

std::string short_age(std::string_view time, std::int64_t now_ns) {
  const auto then = parse_time(time);
  if (!then) return {};
  const long long seconds = (now_ns - *then) / 1'000'000'000;
  if (seconds < 1) return "now";
  if (seconds < 60) return formatted("%llds ago", seconds);
  if (seconds < 3600) return formatted("%lldm ago", seconds / 60);
  if (seconds < 86400) return formatted("%lldh ago", seconds / 3600);
  return formatted("%lldd ago", seconds / 86400);
}

std::string short_span(std::string_view from, std::string_view to) {
  const auto start = parse_time(from);
  const auto end = parse_time(to);
  return start && end ? short_duration(*end - *start) : std::string();
}

std::string clock_time(std::string_view time, std::int64_t now_ns) {
  const auto parsed = parse_time(time);
  if (!parsed) return std::string(time);
  const std::int64_t offset_s = local_offset_s(seconds_of(*parsed));
  return time_at_offset(*parsed, offset_s, now_ns, local_offset_s(seconds_of(now_ns)), "%H:%M:%S") +
         milliseconds_text(*parsed) + offset_text(offset_s);
}

std::string clock_minutes(std::string_view time, std::int64_t now_ns) {
  const auto parsed = parse_time(time);
  if (!parsed) return std::string(time);
  const std::int64_t offset_s = local_offset_s(seconds_of(*parsed));
  return time_at_offset(*parsed, offset_s, now_ns, local_offset_s(seconds_of(now_ns)), "%H:%M") +
         offset_text(offset_s);
}

std::string clock_time_in(std::string_view zone, std::string_view time, std::int64_t now_ns) {
  const auto parsed = parse_time(time);
  const auto found = TimeZone::find(zone);
  if (!parsed || !found) return clock_time(time, now_ns);
  const std::int64_t offset_s = found->period_at(seconds_of(*parsed)).offset_s;
  return time_at_offset(*parsed, offset_s, now_ns, found->period_at(seconds_of(now_ns)).offset_s,
                        "%H:%M:%S") +
         milliseconds_text(*parsed) + offset_text(offset_s);
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string moment_text(const std::string& time, std::int64_t now_ns) {
  return time.empty() ? time : clock_time(time, now_ns) + " (" + short_age(time, now_ns) + ")";
}

std::string number_of(std::uint64_t number, const std::string& noun) {
  std::string text = std::to_string(number) + " " + noun;
  if (number != 1) text += noun.ends_with("ch") ? "es" : "s";
  return text;
}

}  // namespace signalbox
