// Notifications to the service manager with sd_notify(3). Without NOTIFY_SOCKET in the environment,
// all of them do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

// Returns whether "NAME=value" is a variable that the service manager set for this process only. No
// child gets these.
bool is_service_manager_variable(std::string_view entry);
// Returns this process's environment without these variables.
std::vector<std::string> environment_of_children();

// Returns the command that stops this process for good: that of the service manager if it started
// the process, since it might start it again after a kill; else `kill PID`. Reads /proc.
std::string stop_command();

// Returns the same for process `pid`. `started_as` is its SYSTEMD_EXEC_PID, which descendants
// inherit, or empty; `cgroup` is the content of its /proc/PID/cgroup.
std::string stop_command_of(int pid, std::string_view started_as, std::string_view cgroup);

// Sends the first status. Returns a sentence with the reason if NOTIFY_SOCKET is set but can't be
// reached. The functions below ignore errors.
std::optional<std::string> check_notify_socket();

// Sets the status text that `systemctl status` shows. This and the following functions may be
// called on any thread and don't wait for an answer.
void notify_status(const std::string& text);
// Reports that the service is ready.
void notify_ready(const std::string& text);
// Reports that the service reloads its settings, and goes on serving meanwhile. notify_ready() ends
// it.
void notify_reloading(const std::string& text);
// Reports that the service is stopping.
void notify_stopping();
// Resets the watchdog.
void notify_alive();
// Reports progress of the start and extends its timeout by at least `longer_us` microseconds from
// now.
void notify_starting(const std::string& text, std::int64_t longer_us);

// Returns the interval within which notify_alive() is expected (WatchdogSec); empty if there is no
// watchdog.
std::optional<std::int64_t> watchdog_interval_us();

}  // namespace signalbox
