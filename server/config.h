// The settings of a server. Command-line flags override the configuration file, which overrides
// the defaults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "domain/default_pipeline.h"
#include "domain/pipeline.h"
#include "server/access/authentication.h"
#include "server/board/board_settings.h"
#include "server/cell/cell_settings.h"
#include "server/followers/traces/trace_settings.h"
#include "server/limits.h"
#include "server/platform/artifact_settings.h"
#include "server/scheduler/file_retention_settings.h"
#include "server/scheduler/retention_settings.h"

namespace signalbox {

// The flags of `signalbox serve`. An empty value leaves the setting to the configuration file.
struct ServeOptions {
  std::filesystem::path data;
  std::filesystem::path socket;                  // empty: <data>/signalbox.sock
  std::optional<std::filesystem::path> config;   // none: <data>/signalbox.toml, if it exists
  std::optional<std::string> listen;             // "ADDRESS:PORT"
  std::vector<std::string> run_roots;            // absolute paths; replace those of the file
  std::optional<std::string> loopback_role;      // a role, or none
  std::optional<std::string> log_level;          // debug, info, warn, error
  std::optional<std::string> log_format;         // auto, text, json, journal
  std::optional<std::uint32_t> jobs_max;         // concurrent jobs on this machine
  std::optional<std::uint32_t> remote_jobs_max;  // concurrent remote jobs
  std::optional<std::uint64_t> snapshot_events;  // events between two snapshots
  std::optional<std::string> traces_endpoint;    // a URL; empty: no traces
  std::optional<std::string> watchdog_interval;  // a duration, between two sweeps of the watchdog
  std::optional<std::string> default_pipeline;   // agents or workers
};

// The validated settings.
struct Config {
  std::map<std::string, std::string> written;  // settings of the file, as TOML, by key
  std::filesystem::path data;                  // absolute
  std::filesystem::path socket;                // absolute
  std::string listen;                          // "ADDRESS:PORT"; empty: no TCP
  // PEM files for the TCP address: both absolute, or both empty for TCP without TLS.
  std::filesystem::path tls_certificate;
  std::filesystem::path tls_key;
  // Clients that aren't admin may name run roots below these only. Absolute.
  std::vector<std::filesystem::path> run_roots;
  // Absolute; the file with the private key that signs checkpoints of the log. Empty: none is
  // signed.
  std::filesystem::path audit_key;
  std::vector<std::string> http_hosts;  // allowed Host names beside the built-in ones
  std::string log_level = "info";
  std::string log_format = "auto";
  std::uint32_t jobs_max = 8;               // concurrent jobs on this machine
  std::uint32_t remote_jobs_max = 32;       // concurrent remote jobs
  std::uint64_t snapshot_events = 250'000;  // events between two snapshots
  std::size_t connections_max = signalbox::connections_max;
  std::size_t caller_connections_max = signalbox::caller_connections_max;
  std::int64_t watchdog_interval_ms = 5000;
  Authentication::Settings access;
  BoardTexts board;  // valid input of read_board_settings()
  TraceSettings traces;
  ArtifactTexts artifact_texts;                // valid input of read_artifact_settings()
  std::optional<S3Settings> artifacts;         // none: artifacts are in the data directory
  std::optional<CellSettings> cell;            // none: this server alone writes its log
  std::optional<RetentionSettings> retention;  // none: only a command moves records to an archive
  std::optional<FileRetentionSettings> file_retention;  // none: files of ended runs stay
  // Mode of coderunner stations that name none; from the environment variable CODERUNNER_MODE.
  CoderunnerMode coderunner_mode = CoderunnerMode::mock;
  DefaultPipeline default_pipeline = DefaultPipeline::agents;  // of runs that name none
};

// The names of settings whose values in the file changed between two readings.
struct ChangedSettings {
  std::vector<std::string> applied;
  std::vector<std::string> at_next_start;  // a running service can't change these
};

// Copies those settings of `read` to `config` that a running service can change: log_level,
// jobs_max, remote_jobs_max, connections_max, caller_connections_max, loopback_role, socket_role,
// http_hosts, and the files of TLS, unless
// TLS itself would begin or end. Returns what changed.
ChangedSettings apply_changes(Config& config, Config read);

// Reads the configuration file, if there is one, and applies `options` over it. The error is a
// sentence that names the setting and, for one from the file, file and line. Blocks on the file.
tl::expected<Config, std::string> load_config(const ServeOptions& options);

}  // namespace signalbox
