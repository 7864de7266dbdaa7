#include "server/scheduler/time_zone.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

#include <date/tz.h>

#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t shown_name_bytes_max = 64;

constexpr std::int64_t always_begin_s = -1'000'000'000'000;
constexpr std::int64_t always_end_s = 1'000'000'000'000;

// Returns the zone's name from TZ, without the colon that POSIX allows before it.
std::string_view zone_of_environment() {
  const char* const value = std::getenv("TZ");
  std::string_view name = value == nullptr ? "" : value;
  if (name.starts_with(':')) name.remove_prefix(1);
  return name;
}

// As in the C library, a machine without /etc/localtime has UTC.
bool machine_has_zone() {
  std::error_code ignored;
  return std::filesystem::exists("/etc/localtime", ignored);
}

constexpr std::string_view etc_utc = "Etc/UTC";

// Returns whether the machine's zone is this one, as on most servers.
bool machine_is_in_utc() {
  std::error_code failed;
  const std::string link = std::filesystem::read_symlink("/etc/localtime", failed).string();
  return !failed && link.ends_with("/zoneinfo/" + std::string(etc_utc));
}

std::string unknown_zone(std::string_view name) {
  return "there is no time zone " + shortened(with_replacements(name), shown_name_bytes_max) +
         "; write an IANA name such as Europe/Berlin, UTC, or local for this machine's "
         "(names: timedatectl list-timezones, or /usr/share/zoneinfo)";
}

}  // namespace

tl::expected<TimeZone, std::string> TimeZone::find(std::string_view name) {
  std::string_view wanted = name;
  if (wanted == local) wanted = zone_of_environment();
  const bool is_machines = name == local && wanted.empty() && machine_has_zone();
  if (!is_machines && (wanted.empty() || wanted == utc)) {
    return TimeZone(std::string(utc), nullptr);
  }
  // The database needn't be read for it: its six hundred files take a while at each start.
  if (is_machines && machine_is_in_utc()) return TimeZone(std::string(etc_utc), nullptr);
  try {
    date::get_tzdb();
  } catch (const std::exception& error) {
    return tl::unexpected(std::string("the time zones can't be read (is the package tzdata "
                                      "installed?): ") +
                          error.what());
  }
  try {
    const date::time_zone* const zone =
        is_machines ? date::current_zone() : date::locate_zone(wanted);
    // The library reads the zone's file at the first call. Call it now, so that an error shows
    // here.
    (void)zone->get_info(date::sys_seconds{});
    return TimeZone(zone->name(), zone);
  } catch (const std::exception& error) {
    if (!is_machines) return tl::unexpected(unknown_zone(wanted));
    return tl::unexpected(std::string("this machine's time zone can't be found: ") + error.what());
  }
}

ZonePeriod TimeZone::period_at(std::int64_t utc_s) const {
  if (zone_ == nullptr) return {always_begin_s, always_end_s, 0};
  const date::sys_info info = zone_->get_info(date::sys_seconds{std::chrono::seconds{utc_s}});
  return {info.begin.time_since_epoch().count(), info.end.time_since_epoch().count(),
          info.offset.count()};
}

}  // namespace signalbox
