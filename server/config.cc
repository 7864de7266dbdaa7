#include "server/config.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include <boost/describe/enum_from_string.hpp>

#include "domain/limits.h"
#include "domain/try.h"
#include "server/access/access_settings.h"
#include "server/config_tables.h"
#include "server/platform/atomic_file.h"
#include "server/text/time_text.h"
#include "server/text/toml_text.h"
#include "server/transport/http/host_rule.h"

namespace signalbox {
namespace {

const std::set<std::string_view> log_levels = {"debug", "info", "warn", "error"};
const std::set<std::string_view> log_formats = {"auto", "text", "json", "journal"};
constexpr std::int64_t watchdog_interval_ms_min = 100;
constexpr std::int64_t watchdog_interval_ms_max = 60 * 60 * 1000;
constexpr std::uint32_t jobs_max_max = 10'000;
constexpr std::uint64_t snapshot_events_max = 1'000'000'000;

tl::expected<void, std::string> read_watchdog_interval(const std::string& text, Config& config) {
  const auto interval_ms = parse_duration_ms(text);
  if (!interval_ms || *interval_ms < watchdog_interval_ms_min ||
      *interval_ms > watchdog_interval_ms_max) {
    return tl::unexpected("watchdog_interval must be a duration from 100ms to 1h; not " + text);
  }
  config.watchdog_interval_ms = *interval_ms;
  return {};
}

// The places of the settings that the file has, as "FILE:LINE: ", by key; those of a table by
// "table" and "table.key".
using Places = std::map<std::string, std::string>;

// Returns the message about a setting with the place of that one before it, or as it is if the file
// doesn't have the setting.
std::string at_place(const Places& places, const std::string& key, const std::string& message) {
  const auto place = places.find(key);
  return place == places.end() ? message : place->second + message;
}

// Sets `out` to what a flag says, if it was given. None of these may be 0: no job would ever run.
template <class Number>
tl::expected<void, std::string> read_flag(const char* key, const std::optional<Number>& given,
                                          Number max, Number& out) {
  if (!given) return {};
  if (*given < 1 || *given > max) {
    return tl::unexpected(std::string(key) + " must be a whole number from 1 to " +
                          std::to_string(max) + "; not " + std::to_string(*given));
  }
  out = *given;
  return {};
}

// The error has no file and line.
tl::expected<void, std::string> read_default_pipeline(const std::string& text, Config& config) {
  if (boost::describe::enum_from_string(text.c_str(), config.default_pipeline)) return {};
  return tl::unexpected("default_pipeline is agents or workers; not " + text);
}

// Reads a path, which is relative to the file that names it.
tl::expected<void, std::string> read_path(const std::filesystem::path& file, std::string_view key,
                                          const toml::node& node, std::filesystem::path& out) {
  const auto value = node.value_exact<std::string>();
  if (!value || value->empty()) {
    return tl::unexpected(
        at_line(file, node, std::string(key) + " must be the path of a PEM file"));
  }
  out = std::filesystem::absolute(file).parent_path() / *value;
  return {};
}

tl::expected<void, std::string> read_audit_key(const std::filesystem::path& file,
                                               const toml::node& node, Config& config) {
  TRY(read_path(file, "audit_key", node, config.audit_key));
  const std::string fault = signing_key_fault(config.audit_key);
  if (fault.empty()) return {};
  return tl::unexpected(
      at_line(file, node, "audit_key: " + fault + "; `signalbox audit keygen -o FILE` makes one"));
}

tl::expected<void, std::string> read_hosts(const std::filesystem::path& file,
                                           const toml::node& node, std::vector<std::string>& out) {
  const toml::array* names = node.as_array();
  if (names == nullptr) {
    return tl::unexpected(at_line(file, node, "http_hosts must be an array of host names"));
  }
  for (const toml::node& each : *names) {
    const auto name = each.value_exact<std::string>();
    const auto is_no_part = [](char c) { return c == ':' || c == 0x7F || (c >= 0 && c <= ' '); };
    if (!name || host_name(*name).empty() || std::any_of(name->begin(), name->end(), is_no_part)) {
      return tl::unexpected(
          at_line(file, each, "http_hosts has names such as box.example.org, without a port"));
    }
    out.push_back(*name);
  }
  return {};
}

// Adds a directory below which clients may name run roots. The error has no file and line.
tl::expected<void, std::string> add_run_root(const std::string& path, Config& config) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos ||
      path.size() > limits::path_bytes_max) {
    return tl::unexpected("run_roots has absolute paths such as /srv/runs; not " + path);
  }
  if (config.run_roots.size() == limits::run_roots_max) {
    return tl::unexpected("run_roots has at most " + std::to_string(limits::run_roots_max) +
                          " paths");
  }
  config.run_roots.emplace_back(path);
  return {};
}

tl::expected<void, std::string> read_run_roots(const std::filesystem::path& file,
                                               const toml::node& node, Config& config) {
  const toml::array* paths = node.as_array();
  if (paths == nullptr) {
    return tl::unexpected(at_line(file, node, "run_roots must be an array of directories"));
  }
  for (const toml::node& each : *paths) {
    const auto added = add_run_root(each.value_exact<std::string>().value_or(""), config);
    if (!added) return tl::unexpected(at_line(file, each, added.error()));
  }
  return {};
}

tl::expected<void, std::string> require_log_level(const std::string& level) {
  if (log_levels.contains(level)) return {};
  return tl::unexpected("log_level is one of debug, info, warn, error; not " + level);
}

tl::expected<void, std::string> require_log_format(const std::string& format) {
  if (log_formats.contains(format)) return {};
  return tl::unexpected("log_format is one of auto, text, json, journal; not " + format);
}

tl::expected<void, std::string> read_key(const std::filesystem::path& file, std::string_view key,
                                         const toml::node& node, Config& config,
                                         TraceTexts& traces) {
  const auto text = [&](std::string& out) -> tl::expected<void, std::string> {
    const auto value = node.value_exact<std::string>();
    if (!value) return tl::unexpected(at_line(file, node, std::string(key) + " must be a string"));
    out = *value;
    return {};
  };
  // Reads a text, which this function refuses unless it is right.
  const auto checked_text = [&](std::string& out,
                                auto&& require) -> tl::expected<void, std::string> {
    TRY(text(out));
    if (auto right = require(out); !right)
      return tl::unexpected(at_line(file, node, right.error()));
    return {};
  };
  const auto number = [&](auto& out, std::int64_t min,
                          std::int64_t max) -> tl::expected<void, std::string> {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < min || *value > max) {
      return tl::unexpected(at_line(file, node,
                                    std::string(key) + " must be a whole number from " +
                                        std::to_string(min) + " to " + std::to_string(max)));
    }
    out = static_cast<std::remove_reference_t<decltype(out)>>(*value);
    return {};
  };
  if (key == "socket") {
    std::string path;
    auto ok = text(path);
    if (ok) config.socket = path;
    return ok;
  }
  if (key == "listen") return checked_text(config.listen, require_address);
  if (key == "tls_certificate") return read_path(file, key, node, config.tls_certificate);
  if (key == "tls_key") return read_path(file, key, node, config.tls_key);
  if (key == "audit_key") return read_audit_key(file, node, config);
  if (key == "artifacts") return read_artifacts(file, node, config);
  if (key == "board") return read_board(file, node, config);
  if (key == "cell") return read_cell(file, node, config);
  if (key == "traces") return read_traces(file, node, traces);
  if (key == "retention") return read_retention(file, node, config);
  if (key == "run_roots") return read_run_roots(file, node, config);
  if (key == "http_hosts") return read_hosts(file, node, config.http_hosts);
  if (key == "log_level") return checked_text(config.log_level, require_log_level);
  if (key == "log_format") return checked_text(config.log_format, require_log_format);
  if (key == "jobs_max") return number(config.jobs_max, 1, jobs_max_max);
  if (key == "remote_jobs_max") return number(config.remote_jobs_max, 1, jobs_max_max);
  if (key == "watchdog_interval") {
    std::string duration;
    auto ok = text(duration);
    if (ok) ok = read_watchdog_interval(duration, config);
    if (!ok) return tl::unexpected(at_line(file, node, ok.error()));
    return ok;
  }
  if (key == "default_pipeline") {
    std::string which;
    auto ok = text(which);
    if (!ok) return ok;
    ok = read_default_pipeline(which, config);
    if (!ok) return tl::unexpected(at_line(file, node, ok.error()));
    return ok;
  }
  if (key == "loopback_role" || key == "socket_role") {
    std::string role;
    auto ok = text(role);
    if (ok) ok = set_access(key, role, config.access);
    if (!ok) return tl::unexpected(at_line(file, node, ok.error()));
    return ok;
  }
  if (key == "connections_max") return number(config.connections_max, 1024, 1'000'000);
  if (key == "caller_connections_max") {
    return number(config.caller_connections_max, 1, 1'000'000);
  }
  if (key == "snapshot_events") return number(config.snapshot_events, 1, snapshot_events_max);
  return tl::unexpected(
      at_line(file, node,
              "there is no setting " + std::string(key) +
                  "; there are socket, listen, log_level, log_format, jobs_max, remote_jobs_max, "
                  "connections_max, caller_connections_max, snapshot_events, watchdog_interval, "
                  "default_pipeline, loopback_role, socket_role, tls_certificate, tls_key, "
                  "http_hosts, run_roots, audit_key, and the "
                  "tables artifacts, board, cell, traces and retention"));
}

tl::expected<void, std::string> read_file(const std::filesystem::path& file, Config& config,
                                          TraceTexts& traces, Places& places) {
  const auto text = read_linked_file(file, toml_text_bytes_max);
  if (!text) return tl::unexpected(text.error().message);
  const auto table = parse_toml(*text);
  if (!table) {
    return tl::unexpected(file.string() + ":" + std::to_string(table.error().line) + ": " +
                          table.error().message);
  }
  for (const auto& [key, node] : *table) {
    if (auto ok = read_key(file, key.str(), node, config, traces); !ok) return ok;
    std::ostringstream value;
    value << toml::node_view<const toml::node>(node);
    config.written.emplace(key.str(), value.str());
    places.emplace(key.str(), at_line(file, node, ""));
    if (const toml::table* const inner = node.as_table()) {
      for (const auto& [name, each] : *inner) {
        places.emplace(std::string(key.str()) + "." + std::string(name.str()),
                       at_line(file, each, ""));
      }
    }
  }
  return {};
}

}  // namespace

tl::expected<Config, std::string> load_config(const ServeOptions& options) {
  Config config;
  std::error_code error;
  config.data = std::filesystem::absolute(options.data, error);
  TraceTexts traces;
  Places places;
  const std::filesystem::path file = options.config.value_or(config.data / "signalbox.toml");
  // By the name of /dev/null one says that there are no settings.
  if (options.config ? file != "/dev/null"
                     : std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
    TRY(read_file(file, config, traces, places));
  }
  if (!options.socket.empty()) config.socket = options.socket;
  if (config.socket.empty()) config.socket = config.data / "signalbox.sock";
  config.socket = std::filesystem::absolute(config.socket, error);
  config.listen = options.listen.value_or(config.listen);
  if (options.listen) places.erase("listen");  // what follows is said of the flag
  config.log_level = options.log_level.value_or(config.log_level);
  config.log_format = options.log_format.value_or(config.log_format);
  if (!options.run_roots.empty()) config.run_roots.clear();
  for (const std::string& path : options.run_roots) {
    TRY(add_run_root(path, config));
  }
  TRY(read_flag("jobs_max", options.jobs_max, jobs_max_max, config.jobs_max));
  TRY(read_flag("remote_jobs_max", options.remote_jobs_max, jobs_max_max, config.remote_jobs_max));
  TRY(read_flag("snapshot_events", options.snapshot_events, snapshot_events_max,
                config.snapshot_events));
  if (options.watchdog_interval) {
    TRY(read_watchdog_interval(*options.watchdog_interval, config));
  }
  if (options.default_pipeline) {
    TRY(read_default_pipeline(*options.default_pipeline, config));
  }
  const char* const mode = std::getenv("CODERUNNER_MODE");
  if (mode != nullptr && *mode != '\0' &&
      !boost::describe::enum_from_string(mode, config.coderunner_mode)) {
    return tl::unexpected("CODERUNNER_MODE is mock, process or modal; not " + std::string(mode));
  }
  TRY(require_log_level(config.log_level));
  TRY(require_log_format(config.log_format));
  traces.endpoint = options.traces_endpoint.value_or(traces.endpoint);
  if (options.traces_endpoint) places.erase("traces.endpoint");
  auto read_traces = read_trace_settings(traces);
  if (!read_traces) {
    const std::string key = read_traces.error().substr(0, read_traces.error().find_first_of(": "));
    return tl::unexpected(at_place(places, key, read_traces.error()));
  }
  config.traces = *std::move(read_traces);
  if (options.loopback_role) {
    TRY(set_access("loopback_role", *options.loopback_role, config.access));
  }
  config.access.server_uid = geteuid();
  config.access.socket = config.socket.string();
  TRY(require_address(config.listen));
  const auto is_protected =
      require_protected(config.listen, config.tls_certificate, config.tls_key);
  if (!is_protected) {
    const std::string key = config.tls_certificate.empty() == config.tls_key.empty() ? "listen"
                            : config.tls_key.empty() ? "tls_certificate"
                                                     : "tls_key";
    return tl::unexpected(at_place(places, key, is_protected.error()));
  }
  const auto fits = require_fit_for_cell(config);
  if (!fits) return tl::unexpected(at_place(places, "cell", fits.error()));
  return config;
}

ChangedSettings apply_changes(Config& config, Config read) {
  std::set<std::string_view> applicable = {"log_level",
                                           "jobs_max",
                                           "remote_jobs_max",
                                           "connections_max",
                                           "caller_connections_max",
                                           "loopback_role",
                                           "socket_role",
                                           "http_hosts"};
  config.log_level = std::move(read.log_level);
  config.jobs_max = read.jobs_max;
  config.remote_jobs_max = read.remote_jobs_max;
  config.connections_max = read.connections_max;
  config.caller_connections_max = read.caller_connections_max;
  config.access = std::move(read.access);
  config.http_hosts = std::move(read.http_hosts);
  if (config.tls_key.empty() == read.tls_key.empty()) {
    config.tls_certificate = std::move(read.tls_certificate);
    config.tls_key = std::move(read.tls_key);
    applicable.insert({"tls_certificate", "tls_key"});
  }
  std::set<std::string> names;
  for (const auto& [name, value] : config.written) names.insert(name);
  for (const auto& [name, value] : read.written) names.insert(name);
  ChangedSettings changed;
  for (const std::string& name : names) {
    const auto before = config.written.find(name);
    const auto now = read.written.find(name);
    const bool is_in_both = before != config.written.end() && now != read.written.end();
    if (is_in_both && before->second == now->second) continue;
    (applicable.contains(name) ? changed.applied : changed.at_next_start).push_back(name);
    if (!applicable.contains(name)) continue;
    if (now == read.written.end()) {
      config.written.erase(name);
    } else {
      config.written[name] = now->second;
    }
  }
  return changed;
}

}  // namespace signalbox
