// What the start of a server of a cell waits for, until a signal ends the wait.
#pragma once

#include <filesystem>
#include <optional>

#include <spdlog/logger.h>

#include "server/platform/stop_signals.h"
#include "store/store_error.h"

namespace signalbox {

// Returns whether a signal has come, and logs it.
bool note_stop(const StopSignals& signals, spdlog::logger& logger);

// Tells the service manager what the start waits for, so that it goes on waiting for a minute.
void notify_waiting(const char* what);

// Blocks until a server of a cell can use its disk again, on which its log had no space. The others
// go on without it, so it isn't ended for that, and started again and again. Returns false if a
// signal came, which has been logged.
bool await_space(const std::filesystem::path& data, const StoreError& full, StopSignals& signals,
                 spdlog::logger& logger);

// Calls `attempt` until it doesn't fail for want of space. Returns its result; nullopt if a signal
// came, which has been logged.
template <class Attempt>
auto once_there_is_space(const std::filesystem::path& data, StopSignals& signals,
                         spdlog::logger& logger, const Attempt& attempt)
    -> std::optional<decltype(attempt())> {
  for (;;) {
    auto result = attempt();
    if (result || result.error().kind != StoreError::Kind::full) return result;
    if (!await_space(data, result.error(), signals, logger)) return std::nullopt;
  }
}

}  // namespace signalbox
