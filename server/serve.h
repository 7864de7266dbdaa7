// `signalbox serve`: the service from opening the log to a clean stop. It has more than one life
// where retentions lie between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "server/retention/retention_outcome.h"

namespace signalbox {

// What the command line says; what it leaves open, the configuration file says, or a default.
struct ServeOptions {
  std::filesystem::path data;
  std::filesystem::path socket;                  // empty: <data>/signalbox.sock
  std::optional<std::filesystem::path> config;   // else <data>/signalbox.toml, if it is there
  std::optional<std::string> listen;             // an address and port
  std::optional<std::string> log_level;          // debug, info, warn, error
  std::optional<std::string> log_format;         // auto, text, json, journal
  std::optional<std::uint32_t> jobs_max;         // jobs of the service itself at one time
  std::optional<std::uint32_t> remote_jobs_max;  // and those of them that are done elsewhere
  std::optional<std::uint64_t> snapshot_events;  // events between two snapshots
  std::optional<std::string> traces_endpoint;    // a URL; empty: no traces
  std::optional<std::string> watchdog_interval;  // a duration, between two looks of the watchdog
};

// Serves until SIGTERM or SIGINT; away now and then, to carry out what the configuration's
// retention says by `retain`. Gives the exit code: 0 after a clean stop, 74 the log couldn't be
// written, 75 another process has the directory, 78 configuration or damaged data.
int run_server(const ServeOptions& options, const RetainRecords& retain);

}  // namespace signalbox
