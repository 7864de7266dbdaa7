#include "tools/cli/elapsed_text.h"

#include <chrono>
#include <cstdio>
#include <ctime>

#include "server/text/time_text.h"

namespace signalbox {
namespace {

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[64];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
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
  const std::time_t then_s = *parsed / 1'000'000'000;
  const std::time_t now_s = now_ns / 1'000'000'000;
  std::tm then{};
  std::tm now{};
  localtime_r(&then_s, &then);
  localtime_r(&now_s, &now);
  const bool same_day = then.tm_year == now.tm_year && then.tm_yday == now.tm_yday;
  char text[64];
  const std::size_t length =
      std::strftime(text, sizeof text, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
  return std::string(text, length) +
         formatted(".%03d", static_cast<int>(*parsed / 1'000'000 % 1000));
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string moment_text(const std::string& time, std::int64_t now_ns) {
  return time.empty() ? time : clock_time(time, now_ns) + " (" + short_age(time, now_ns) + ")";
}

}  // namespace signalbox
