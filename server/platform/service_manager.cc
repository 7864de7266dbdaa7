#include "server/platform/service_manager.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "domain/refusals.h"
#include "server/platform/systemd_library.h"
#include "server/text/printable_text.h"

namespace signalbox {
namespace {

constexpr int keep_environment = 0;

// Returns the service manager's socket; nullptr if there is none, and so nobody to notify.
const char* notify_socket() { return std::getenv("NOTIFY_SOCKET"); }

// The protocol has one field per line, so a text must be printable(): with line ends it would be
// read as several fields.
void notify(const std::string& state) {
  if (notify_socket() == nullptr || !systemd_library()) return;
  (void)systemd_library()->notify(keep_environment, state.c_str());
}

// Type=notify-reload of newer service managers needs the time, to tell this reload from others.
std::string reloading_fields(const std::string& text) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  return "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us) + "\nSTATUS=" + printable(text);
}

// Returns the path of the process below the service manager's own hierarchy; empty if it has none.
std::string_view path_in_cgroups(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const std::size_t end = cgroup.find('\n');
    const std::string_view line = cgroup.substr(0, end);
    cgroup = end == std::string_view::npos ? std::string_view() : cgroup.substr(end + 1);
    for (const std::string_view hierarchy : {"0::", "1:name=systemd:"}) {
      const bool is_own = line.starts_with(hierarchy) && line.size() > hierarchy.size() + 1;
      if (is_own) return line.substr(hierarchy.size());
    }
  }
  return {};
}

}  // namespace

std::string stop_command_of(int pid, std::string_view started_as, std::string_view cgroup) {
  const std::string by_signal = "kill " + std::to_string(pid);
  if (started_as != std::to_string(pid)) return by_signal;
  const std::string_view path = path_in_cgroups(cgroup);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return by_signal;
  const std::string unit(path.substr(slash + 1));
  if (!unit.ends_with(".service")) return by_signal;
  const bool is_of_user = path.find("/user@") != std::string_view::npos;
  return std::string(is_of_user ? "systemctl --user stop " : "systemctl stop ") + shell_word(unit);
}

std::string stop_command() {
  const char* const started_as = std::getenv("SYSTEMD_EXEC_PID");
  std::ifstream file("/proc/self/cgroup");
  const std::string cgroup(std::istreambuf_iterator<char>(file), {});
  return stop_command_of(::getpid(), started_as == nullptr ? "" : started_as, cgroup);
}

bool is_service_manager_variable(std::string_view entry) {
  static constexpr std::array<std::string_view, 9> names{
      "NOTIFY_SOCKET=", "WATCHDOG_USEC=",  "WATCHDOG_PID=", "JOURNAL_STREAM=",  "INVOCATION_ID=",
      "LISTEN_FDS=",    "LISTEN_FDNAMES=", "LISTEN_PID=",   "SYSTEMD_EXEC_PID="};
  return std::any_of(names.begin(), names.end(),
                     [entry](std::string_view name) { return entry.starts_with(name); });
}

std::vector<std::string> environment_of_children() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!is_service_manager_variable(*each)) variables.emplace_back(*each);
  }
  return variables;
}

std::optional<std::string> check_notify_socket() {
  const char* const socket = notify_socket();
  if (socket == nullptr) return std::nullopt;
  const auto& library = systemd_library();
  const std::string text = std::string("NOTIFY_SOCKET ") + socket + " can't be reached: ";
  if (!library) return text + library.error();
  const int result = library->notify(keep_environment, "STATUS=starting");
  return result >= 0 ? std::nullopt : std::optional(text + std::strerror(-result));
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
  if (std::getenv("WATCHDOG_USEC") == nullptr || !systemd_library()) return std::nullopt;
  std::uint64_t interval_us = 0;
  if (systemd_library()->watchdog_enabled(keep_environment, &interval_us) <= 0) return std::nullopt;
  return static_cast<std::int64_t>(interval_us);
}

}  // namespace signalbox
