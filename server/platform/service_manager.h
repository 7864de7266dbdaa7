// What the service manager is told: sd_notify(3). Without NOTIFY_SOCKET nobody is, and nothing
// happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Whether "NAME=value" is between the service manager and this process: no child gets it.
bool is_service_manager_variable(std::string_view entry);

// Begins to tell: nothing, or a sentence with the reason why it can't be told although the
// environment has NOTIFY_SOCKET. What follows fails without a word.
std::optional<std::string> why_nobody_is_told();

// Any thread, all of them.
void tell_status(const std::string& text);
void notify_ready(const std::string& text);
// The service doesn't serve for a while and comes back: until it is ready again, notify_alive() is
// expected only every so often.
void notify_maintenance(const std::string& text, std::int64_t alive_us);
void notify_stopping();
void notify_alive();
// The start goes on, and takes at least so much longer.
void tell_starting(const std::string& text, std::int64_t longer_us);

// How often at least notify_alive() is expected of this process (WatchdogSec); nothing if it isn't.
std::optional<std::int64_t> watchdog_interval_us();

}  // namespace signalbox
