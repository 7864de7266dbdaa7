#include "server/platform/service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "server/text/printable_text.h"

namespace signalbox {
namespace {

constexpr int keep_environment = 0;

// The protocol has one field per line, so a text must be printable(): with line ends it would be
// read as several fields.
void notify(const std::string& state) { (void)::sd_notify(keep_environment, state.c_str()); }

// Type=notify-reload of newer service managers needs the time, to tell this reload from others.
std::string reloading_fields(const std::string& text) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  return "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us) + "\nSTATUS=" + printable(text);
}

}  // namespace

bool is_service_manager_variable(std::string_view entry) {
  static constexpr std::array<std::string_view, 9> names{
      "NOTIFY_SOCKET=", "WATCHDOG_USEC=",  "WATCHDOG_PID=", "JOURNAL_STREAM=",  "INVOCATION_ID=",
      "LISTEN_FDS=",    "LISTEN_FDNAMES=", "LISTEN_PID=",   "SYSTEMD_EXEC_PID="};
  return std::any_of(names.begin(), names.end(),
                     [entry](std::string_view name) { return entry.starts_with(name); });
}

std::optional<std::string> check_notify_socket() {
  const int result = ::sd_notify(keep_environment, "STATUS=starting");
  if (result >= 0) return std::nullopt;
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  return std::string("NOTIFY_SOCKET ") + (socket == nullptr ? "" : socket) +
         " can't be reached: " + std::strerror(-result);
}

void notify_status(const std::string& text) { notify("STATUS=" + printable(text)); }

void notify_ready(const std::string& text) { notify("READY=1\nSTATUS=" + printable(text)); }

void notify_reloading(const std::string& text) { notify(reloading_fields(text)); }

void notify_stopping() { notify("STOPPING=1\nSTATUS=stopping"); }
void notify_alive() { notify("WATCHDOG=1"); }

void notify_starting(const std::string& text, std::int64_t longer_us) {
  notify("STATUS=" + printable(text) + "\nEXTEND_TIMEOUT_USEC=" + std::to_string(longer_us));
}

std::optional<std::int64_t> watchdog_interval_us() {
  std::uint64_t interval_us = 0;
  if (::sd_watchdog_enabled(keep_environment, &interval_us) <= 0) return std::nullopt;
  return static_cast<std::int64_t>(interval_us);
}

}  // namespace signalbox
