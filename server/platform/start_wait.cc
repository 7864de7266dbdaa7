#include "server/platform/start_wait.h"

#include <cstdint>

#include "server/platform/service_manager.h"
#include "server/platform/space_watch.h"

namespace signalbox {
namespace {

constexpr std::int64_t space_check_ms = 1'000;
// So long the service manager waits for a start after each word that it waits for something.
constexpr std::int64_t wait_extension_us = 60'000'000;

}  // namespace

bool note_stop(const StopSignals& signals, spdlog::logger& logger) {
  const std::string signal = signals.received();
  if (signal.empty()) return false;
  notify_stopping();
  logger.info("stopping: signal {}", signal);
  return true;
}

void notify_waiting(const char* what) { notify_starting(what, wait_extension_us); }

bool await_space(const std::filesystem::path& data, const StoreError& full, StopSignals& signals,
                 spdlog::logger& logger) {
  logger.error("{}; this server waits until there are {} MiB where {} is", full.message,
               SpaceWatch::mebibytes_needed, data.string());
  do {
    notify_alive();
    notify_waiting("waiting for space");
    if (!signals.wait(space_check_ms)) return !note_stop(signals, logger);
  } while (!SpaceWatch::has_space(data));
  logger.info("there is space again");
  return true;
}

}  // namespace signalbox
