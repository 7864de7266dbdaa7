// The settings of a server: flags over the configuration file over defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "domain/pipeline.h"
#include "server/access/authentication.h"
#include "server/board/board_settings.h"
#include "server/followers/traces/trace_settings.h"
#include "server/scheduler/retention_settings.h"

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

struct Config {
  std::filesystem::path data;    // absolute
  std::filesystem::path socket;  // absolute
  std::string listen;            // or empty
  // Of the TCP address; both absolute, or both empty: then it speaks plainly.
  std::filesystem::path tls_certificate;
  std::filesystem::path tls_key;
  std::vector<std::string> http_hosts;  // names that HTTP answers to, beside its own
  std::string log_level = "info";
  std::string log_format = "auto";
  std::uint32_t jobs_max = 8;          // jobs of this machine at one time
  std::uint32_t remote_jobs_max = 32;  // and of others
  std::uint64_t snapshot_events = 250'000;
  std::int64_t watchdog_interval_ms = 5000;
  Authentication::Settings access;
  BoardTexts board;  // read_board_settings() takes them
  TraceSettings traces;
  std::optional<RetentionSettings> retention;  // none: only a command moves records out
  // Of coderunner stations that name none: the environment's CODERUNNER_MODE.
  CoderunnerMode coderunner_mode = CoderunnerMode::mock;
};

// Reads the file, if there is one. An error is a sentence that names file, line and key.
tl::expected<Config, std::string> load_config(const ServeOptions& options);

}  // namespace signalbox
