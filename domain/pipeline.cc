#include "domain/pipeline.h"

#include <algorithm>
#include <set>

#include "domain/limits.h"

namespace signalbox {
namespace {

tl::unexpected<Rejection> invalid(const std::string& station, const std::string& field,
                                  const std::string& why) {
  const std::string where = station.empty() ? field : "station " + station + ": " + field;
  return reject(ErrorCode::PIPELINE_INVALID, where + " " + why,
                {{"station", station}, {"field", field}});
}

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Decided<void> validate(const StationDefinition& station) {
  const std::string& name = station.name;
  if (!is_name(name)) {
    return invalid(name, "name", "must be 1 to 64 letters, digits and '_'");
  }
  switch (station.executor) {
    case ExecutorKind::process:
      if (station.command.empty() || station.command.front().empty()) {
        return invalid(name, "command", "must name a program: executor is process");
      }
      break;
    case ExecutorKind::builtin:
      if (name != "intake" && name != "create_pr") {
        return invalid(name, "executor", "builtin is there for intake and create_pr");
      }
      [[fallthrough]];
    case ExecutorKind::worker:
      if (!station.command.empty()) {
        return invalid(name, "command", "belongs to the executor process");
      }
      break;
  }
  const auto in_range = [](std::int64_t value, std::int64_t max) {
    return value >= 1 && value <= max;
  };
  if (!in_range(station.timeout_ms, limits::timeout_ms_max)) {
    return invalid(name, "timeout", "must lie between 1 ms and 7 days");
  }
  if (station.heartbeat_timeout_ms < limits::lease_ms_min ||
      station.heartbeat_timeout_ms > limits::lease_ms_max) {
    return invalid(name, "heartbeat_timeout", "must lie between 10 ms and 24 h");
  }
  if (station.cancel_grace_ms < 0 || station.cancel_grace_ms > 10 * 60 * 1000) {
    return invalid(name, "cancel_grace", "must lie between 0 and 10 min");
  }
  if (station.stall_after_ms != 0 && !in_range(station.stall_after_ms, limits::timeout_ms_max)) {
    return invalid(name, "stall_after", "must lie between 1 ms and 7 days");
  }
  if (station.stall_actions.empty() || station.stall_actions.size() > limits::stall_actions_max) {
    return invalid(name, "stall_actions", "must name one to eight actions");
  }
  if (station.retry.max_retries > limits::retries_max) {
    return invalid(name, "retry.max_retries",
                   "must be at most " + std::to_string(limits::retries_max));
  }
  if (station.retry.backoff_ms < 0 || station.retry.backoff_ms > limits::backoff_ms_max) {
    return invalid(name, "retry.backoff", "must lie between 0 and 1 h");
  }
  if (station.retry.strategies.empty() ||
      station.retry.strategies.size() > limits::strategies_max) {
    return invalid(name, "retry.strategies", "must name one to eight strategies");
  }
  const std::set<Strategy> distinct(station.retry.strategies.begin(),
                                    station.retry.strategies.end());
  if (distinct.size() != station.retry.strategies.size()) {
    return invalid(name, "retry.strategies", "names one twice");
  }
  return {};
}

std::size_t text_bytes(const StationDefinition& station) {
  std::size_t bytes = station.name.size() + station.remote.size() + 128;
  for (const std::string& argument : station.command) bytes += argument.size() + 8;
  for (const std::string& name : station.environment) bytes += name.size() + 8;
  return bytes;
}

}  // namespace

Decided<void> validate(const PipelineDefinition& pipeline) {
  if (!is_name(pipeline.name)) {
    return invalid("", "name", "must be 1 to 64 letters, digits and '_'");
  }
  if (pipeline.stations.empty() || pipeline.stations.size() > limits::stations_max) {
    return invalid("", "station",
                   "must be there 1 to " + std::to_string(limits::stations_max) + " times");
  }
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const StationDefinition& station : pipeline.stations) {
    if (auto ok = validate(station); !ok) return ok;
    if (!names.insert(station.name).second) return invalid(station.name, "name", "is there twice");
    bytes += text_bytes(station);
  }
  if (bytes > limits::pipeline_bytes_max) {
    return invalid("", "station",
                   "takes more than " + std::to_string(limits::pipeline_bytes_max) +
                       " bytes in all; put long commands into a script");
  }
  return {};
}

PipelineDefinition default_pipeline() {
  PipelineDefinition pipeline;
  pipeline.name = "default";
  for (const char* name : {"intake", "plan", "implement", "verify", "create_pr"}) {
    StationDefinition station;
    station.name = name;
    pipeline.stations.push_back(station);
  }
  pipeline.stations.front().executor = ExecutorKind::builtin;
  pipeline.stations.back().executor = ExecutorKind::builtin;
  return pipeline;
}

std::int64_t backoff_ms(const RetryPolicy& policy, std::uint32_t failures) {
  std::int64_t delay_ms = policy.backoff_ms;
  for (std::uint32_t retry = 1; retry < failures && delay_ms < limits::backoff_ms_max; ++retry) {
    delay_ms *= 2;
  }
  return std::min(delay_ms, limits::backoff_ms_max);
}

}  // namespace signalbox
