#include "server/rpc/pipeline_json.h"

#include <sstream>

#include <toml++/toml.h>

#include "server/rpc/described_json.h"
#include "server/rpc/json_text.h"
#include "server/rpc/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The tables as people write them: durations are text with a unit.
struct RetryTable {
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> backoff;
  std::vector<Strategy> strategies;
};
BOOST_DESCRIBE_STRUCT(RetryTable, (), (max_retries, backoff, strategies))

struct StationTable {
  std::string name;
  std::optional<ExecutorKind> executor;
  std::vector<std::string> command;
  std::optional<std::string> timeout;
  std::optional<std::string> heartbeat_timeout;
  std::optional<std::string> cancel_grace;
  std::optional<bool> require_result;
  std::vector<std::string> environment;
  std::optional<std::string> remote;
  std::optional<RetryTable> retry;
  std::optional<std::string> stall_after;
  std::vector<StallAction> stall_actions;
};
BOOST_DESCRIBE_STRUCT(StationTable, (),
                      (name, executor, command, timeout, heartbeat_timeout, cancel_grace,
                       require_result, environment, remote, retry, stall_after, stall_actions))

struct PipelineTable {
  std::string name;
  std::vector<StationTable> station;
};
BOOST_DESCRIBE_STRUCT(PipelineTable, (), (name, station))

Decided<void> read_duration(const std::optional<std::string>& text, const std::string& station,
                            const char* field, std::int64_t& ms) {
  if (!text) return {};
  const auto parsed = parse_duration_ms(*text);
  if (!parsed) {
    return reject(ErrorCode::PIPELINE_INVALID,
                  "station " + station + ": " + field + " must be a duration such as \"30m\"",
                  {{"station", station}, {"field", std::string(field)}, {"value", *text}});
  }
  ms = *parsed;
  return {};
}

Decided<StationDefinition> station_from(StationTable& table) {
  StationDefinition station;
  station.name = std::move(table.name);
  station.executor = table.executor.value_or(ExecutorKind::worker);
  station.command = std::move(table.command);
  station.require_result = table.require_result.value_or(false);
  station.environment = std::move(table.environment);
  station.remote = table.remote.value_or("");
  const auto duration = [&](const std::optional<std::string>& text, const char* field,
                            std::int64_t& ms) {
    return read_duration(text, station.name, field, ms);
  };
  if (auto ok = duration(table.timeout, "timeout", station.timeout_ms); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok =
          duration(table.heartbeat_timeout, "heartbeat_timeout", station.heartbeat_timeout_ms);
      !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = duration(table.cancel_grace, "cancel_grace", station.cancel_grace_ms); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = duration(table.stall_after, "stall_after", station.stall_after_ms); !ok) {
    return tl::unexpected(ok.error());
  }
  if (!table.stall_actions.empty()) station.stall_actions = table.stall_actions;
  if (table.retry) {
    if (auto ok = duration(table.retry->backoff, "retry.backoff", station.retry.backoff_ms); !ok) {
      return tl::unexpected(ok.error());
    }
    station.retry.max_retries = table.retry->max_retries.value_or(station.retry.max_retries);
    if (!table.retry->strategies.empty()) station.retry.strategies = table.retry->strategies;
  }
  return station;
}

}  // namespace

Decided<PipelineDefinition> pipeline_from_json(const json::value& tables) {
  auto table = from_json<PipelineTable>(tables, "pipeline");
  if (!table) {
    table.error().code = ErrorCode::PIPELINE_INVALID;
    return tl::unexpected(table.error());
  }
  PipelineDefinition pipeline;
  pipeline.name = table->name;
  for (StationTable& each : table->station) {
    auto station = station_from(each);
    if (!station) return tl::unexpected(station.error());
    pipeline.stations.push_back(std::move(*station));
  }
  if (auto ok = validate(pipeline); !ok) return tl::unexpected(ok.error());
  return pipeline;
}

json::object pipeline_to_json(const PipelineDefinition& pipeline) {
  PipelineTable table{pipeline.name, {}};
  for (const StationDefinition& station : pipeline.stations) {
    table.station.push_back(
        {station.name, station.executor, station.command, format_duration_ms(station.timeout_ms),
         format_duration_ms(station.heartbeat_timeout_ms),
         format_duration_ms(station.cancel_grace_ms), station.require_result, station.environment,
         station.remote,
         RetryTable{station.retry.max_retries, format_duration_ms(station.retry.backoff_ms),
                    station.retry.strategies},
         station.stall_after_ms == 0 ? std::nullopt
                                     : std::optional(format_duration_ms(station.stall_after_ms)),
         station.stall_actions});
  }
  return to_json(table).as_object();
}

Decided<json::value> json_from_toml(std::string_view text) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return reject(ErrorCode::PIPELINE_INVALID,
                  "line " + std::to_string(error.source().begin.line) + ", column " +
                      std::to_string(error.source().begin.column) + ": " +
                      std::string(error.description()),
                  {{"line", static_cast<std::int64_t>(error.source().begin.line)},
                   {"column", static_cast<std::int64_t>(error.source().begin.column)}});
  }
  std::ostringstream out;
  out << toml::json_formatter{table};
  auto value = parse_json(out.str());
  if (!value) value.error().code = ErrorCode::PIPELINE_INVALID;
  return value;
}

}  // namespace signalbox
