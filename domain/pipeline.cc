#include "domain/pipeline.h"

#include <algorithm>
#include <set>

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>

#include "domain/check.h"
#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/prompt_template.h"
#include "domain/station_turn.h"
#include "domain/try.h"
#include "domain/url_parts.h"

namespace signalbox {
namespace {

tl::unexpected<Rejection> pipeline_invalid(const std::string& station, const std::string& field,
                                           const std::string& why) {
  const std::string where = station.empty() ? field : "station " + station + ": " + field;
  return reject(ErrorCode::PIPELINE_INVALID, where + " " + why,
                {{"station", station}, {"field", field}});
}

tl::unexpected<Rejection> pipeline_invalid(const std::string& field, const std::string& why) {
  return reject(ErrorCode::PIPELINE_INVALID, "pipeline." + field + " " + why,
                {{"station", std::string()}, {"field", field}});
}

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Checks that the settings are given only for the executors that they belong to, `owners`.
template <class Settings>
Decided<void> require_own(const StationDefinition& station, const char* table,
                          const std::optional<Settings>& settings, bool belongs,
                          const char* owners) {
  if (!settings || belongs) return {};
  return pipeline_invalid(station.name, table, std::string("belongs to ") + owners);
}

Decided<void> require_command(const StationDefinition& station, const std::string& field,
                              const std::vector<std::string>& command) {
  if (!command.empty() && !command.front().empty()) return {};
  return pipeline_invalid(station.name, field, "must name a program");
}

Decided<void> validate_coderunner(const StationDefinition& station) {
  if (const auto unknown = unknown_placeholder(station.coderunner->prompt)) {
    return pipeline_invalid(
        station.name, "coderunner.prompt",
        "has the unknown placeholder " + *unknown +
            "; there are {{goal}}, {{input}}, {{previous}}, {{strategy}}, {{station}}");
  }
  if (station.coderunner->mode == CoderunnerMode::modal && !station.modal) {
    return pipeline_invalid(station.name, "modal.endpoint", "must be given: its mode is modal");
  }
  if (!station.command.empty()) return require_command(station, "command", station.command);
  return {};
}

Decided<void> validate_endpoint(const StationDefinition& station) {
  const std::string& endpoint = station.modal->endpoint;
  if (has_credentials(endpoint)) {
    return pipeline_invalid(
        station.name, "modal.endpoint",
        "must not have a user or password, which the log would keep; "
        "set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET in the server's environment");
  }
  const auto parts = url_parts(endpoint);
  const bool on_loopback =
      parts && (parts->host == "127.0.0.1" || parts->host == "localhost" || parts->host == "[::1]");
  if (!endpoint.starts_with("https://") && !(on_loopback && endpoint.starts_with("http://"))) {
    return pipeline_invalid(station.name, "modal.endpoint",
                            "must be an https URL; http is for loopback only");
  }
  if (endpoint.size() > limits::path_bytes_max) {
    return pipeline_invalid(station.name, "modal.endpoint", "is too long");
  }
  if (station.modal->poll_ms < 10 || station.modal->poll_ms > 10 * 60 * 1000) {
    return pipeline_invalid(station.name, "modal.poll", "must lie between 10 ms and 10 min");
  }
  return {};
}

Decided<void> validate_checks(const StationDefinition& station) {
  if (station.checks->checks.size() > limits::checks_max) {
    return pipeline_invalid(station.name, "checks",
                            "must be at most " + std::to_string(limits::checks_max));
  }
  std::set<std::string> names;
  for (const CheckDefinition& check : station.checks->checks) {
    if (check.name.empty() || check.name.size() > 64 || !names.insert(check.name).second) {
      return pipeline_invalid(station.name, "checks.name",
                              "must be there, at most 64 bytes, and once");
    }
    TRY(require_command(station, "checks.command of " + check.name, check.command));
    if (check.timeout_ms < 1 || check.timeout_ms > limits::timeout_ms_max) {
      return pipeline_invalid(station.name, "checks.timeout", "must lie between 1 ms and 7 days");
    }
  }
  return {};
}

Decided<void> validate_deep_work(const StationDefinition& station) {
  const DeepWorkDefinition& work = *station.deep_work;
  for (const PhaseDefinition* phase : {&work.explore, &work.plan, &work.step}) {
    if (phase->worker && !phase->command.empty()) {
      return pipeline_invalid(station.name, "deep_work",
                              "a phase has a command or a worker, not both");
    }
  }
  if (work.max_steps < 1 || work.max_steps > limits::plan_steps_max) {
    return pipeline_invalid(station.name, "deep_work.max_steps",
                            "must lie between 1 and " + std::to_string(limits::plan_steps_max));
  }
  if (work.max_files > limits::explored_files_max) {
    return pipeline_invalid(station.name, "deep_work.max_files",
                            "must be at most " + std::to_string(limits::explored_files_max));
  }
  if (work.max_retries > limits::retries_max) {
    return pipeline_invalid(station.name, "deep_work.max_retries",
                            "must be at most " + std::to_string(limits::retries_max));
  }
  for (const std::int64_t timeout_ms : {work.explore_timeout_ms, work.step_timeout_ms}) {
    if (timeout_ms < 1 || timeout_ms > limits::timeout_ms_max) {
      return pipeline_invalid(station.name, "deep_work",
                              "its timeouts lie between 1 ms and 7 days");
    }
  }
  if (work.retry_delay_ms < 0 || work.retry_delay_ms > limits::backoff_ms_max) {
    return pipeline_invalid(station.name, "deep_work.retry_delay", "must lie between 0 and 1 h");
  }
  if (work.strategies.empty() || work.strategies.size() > limits::strategies_max) {
    return pipeline_invalid(station.name, "deep_work.strategies",
                            "must name one to eight strategies");
  }
  const std::set<Strategy> distinct(work.strategies.begin(), work.strategies.end());
  if (distinct.size() != work.strategies.size()) {
    return pipeline_invalid(station.name, "deep_work.strategies", "names one twice");
  }
  return {};
}

// Checks that the settings of the station's executor are present and valid, and those of other
// executors absent.
Decided<void> validate_executor(const StationDefinition& station) {
  const ExecutorKind kind = station.executor;
  const bool agent = kind == ExecutorKind::coderunner;
  TRY(require_own(station, "coderunner", station.coderunner, agent, "the executor coderunner"));
  TRY(require_own(station, "modal", station.modal, agent || kind == ExecutorKind::modal,
                  "the executors coderunner and modal"));
  // Both keys of a pipeline's file are of these settings.
  const bool names_file = station.checks && !station.checks->instructions.empty();
  TRY(require_own(station, names_file ? "instructions" : "checks", station.checks,
                  kind == ExecutorKind::checks, "the executor checks"));
  TRY(require_own(station, "deep_work", station.deep_work, kind == ExecutorKind::deep_work,
                  "the executor deep_work"));
  if (kind == ExecutorKind::process) return require_command(station, "command", station.command);
  if (!station.command.empty() && !agent) {
    return pipeline_invalid(
        station.name, "command",
        std::string("belongs to the executors process and coderunner") +
            (kind == ExecutorKind::worker ? "; executor = \"process\" has the service run it"
                                          : ""));
  }
  if (kind == ExecutorKind::builtin && !builtin_of(station)) {
    return pipeline_invalid(station.name, "executor",
                            "builtin is there for intake, create_pr, merge and push");
  }
  if (kind == ExecutorKind::modal && !station.modal) {
    return pipeline_invalid(station.name, "modal.endpoint", "must be given");
  }
  if (station.coderunner) {
    TRY(validate_coderunner(station));
  }
  if (station.modal) {
    TRY(validate_endpoint(station));
  }
  if (station.checks) return validate_checks(station);
  if (station.deep_work) return validate_deep_work(station);
  return {};
}

// Checks that only a station with a job on this machine allows its job something.
Decided<void> validate_allowances(const StationDefinition& station) {
  switch (station.executor) {
    case ExecutorKind::process:
    case ExecutorKind::coderunner:
    case ExecutorKind::checks:
    case ExecutorKind::deep_work:
      return {};
    case ExecutorKind::worker:
    case ExecutorKind::builtin:
    case ExecutorKind::modal:
    case ExecutorKind::approval:
      break;
  }
  if (!allows(station, JobAllowance::locks) && !allows(station, JobAllowance::ticks)) return {};
  return pipeline_invalid(station.name, "allow",
                          "belongs to the executors process, coderunner, checks and deep_work");
}

Decided<void> validate(const StationDefinition& station) {
  const std::string& name = station.name;
  if (!is_name(name)) {
    return pipeline_invalid(name, "name", "must be 1 to 64 letters, digits and '_'");
  }
  TRY(validate_executor(station));
  TRY(validate_allowances(station));
  const auto& variables = station.environment;
  if (std::find(variables.begin(), variables.end(), "SIGNALBOX_ACCESS_TOKEN") != variables.end()) {
    return pipeline_invalid(name, "environment",
                            "must not name SIGNALBOX_ACCESS_TOKEN, with which a job would be "
                            "somebody else; a job has a token of its own");
  }
  if (has_credentials(station.remote)) {
    return pipeline_invalid(name, "remote",
                            "must not have a user or password, which the log would keep; "
                            "give them to git's credential helper as the server's user");
  }
  const auto in_range = [](std::int64_t value, std::int64_t max) {
    return value >= 1 && value <= max;
  };
  if (!in_range(station.timeout_ms, limits::timeout_ms_max)) {
    return pipeline_invalid(name, "timeout", "must lie between 1 ms and 7 days");
  }
  if (station.heartbeat_timeout_ms < limits::lease_ms_min ||
      station.heartbeat_timeout_ms > limits::lease_ms_max) {
    return pipeline_invalid(name, "heartbeat_timeout", "must lie between 10 ms and 24 h");
  }
  if (station.cancel_grace_ms < 0 || station.cancel_grace_ms > 10 * 60 * 1000) {
    return pipeline_invalid(name, "cancel_grace", "must lie between 0 and 10 min");
  }
  if (station.stall_after_ms != 0 && !in_range(station.stall_after_ms, limits::timeout_ms_max)) {
    return pipeline_invalid(name, "stall_after", "must lie between 1 ms and 7 days");
  }
  if (station.stall_actions.empty() || station.stall_actions.size() > limits::stall_actions_max) {
    return pipeline_invalid(name, "stall_actions", "must name one to eight actions");
  }
  if (station.retry.max_retries > limits::retries_max) {
    return pipeline_invalid(name, "retry.max_retries",
                            "must be at most " + std::to_string(limits::retries_max));
  }
  if (station.retry.backoff_ms < 0 || station.retry.backoff_ms > limits::backoff_ms_max) {
    return pipeline_invalid(name, "retry.backoff", "must lie between 0 and 1 h");
  }
  if (station.retry.strategies.empty() ||
      station.retry.strategies.size() > limits::strategies_max) {
    return pipeline_invalid(name, "retry.strategies", "must name one to eight strategies");
  }
  const std::set<Strategy> distinct(station.retry.strategies.begin(),
                                    station.retry.strategies.end());
  if (distinct.size() != station.retry.strategies.size()) {
    return pipeline_invalid(name, "retry.strategies", "names one twice");
  }
  return {};
}

std::size_t text_bytes(const StationDefinition& station) {
  std::size_t bytes = station.name.size() + station.remote.size() + 128;
  for (const std::string& argument : station.command) bytes += argument.size() + 8;
  for (const std::string& name : station.environment) bytes += name.size() + 8;
  const auto add = [&bytes](const std::vector<std::string>& command) {
    for (const std::string& argument : command) bytes += argument.size() + 8;
  };
  if (station.coderunner) {
    bytes += station.coderunner->prompt.size() + station.coderunner->model.size() + 32;
  }
  if (station.modal) bytes += station.modal->endpoint.size() + 32;
  if (station.checks) {
    bytes += station.checks->instructions.size() + 32;
    for (const CheckDefinition& check : station.checks->checks) {
      bytes += check.name.size() + 32;
      add(check.command);
    }
  }
  if (station.deep_work) {
    bytes += 128;
    add(station.deep_work->explore.command);
    add(station.deep_work->plan.command);
    add(station.deep_work->step.command);
  }
  return bytes;
}

}  // namespace

StationDefinition::StationDefinition() = default;
StationDefinition::StationDefinition(const StationDefinition& other) = default;
StationDefinition::StationDefinition(StationDefinition&& other) noexcept = default;
StationDefinition& StationDefinition::operator=(const StationDefinition& other) = default;
StationDefinition& StationDefinition::operator=(StationDefinition&& other) noexcept = default;
StationDefinition::~StationDefinition() = default;

std::string variable_of(JobAllowance allowance) {
  switch (allowance) {
    case JobAllowance::locks:
      return "SIGNALBOX_ALLOW_LOCKS";
    case JobAllowance::ticks:
      return "SIGNALBOX_ALLOW_TICKS";
  }
  SIGNALBOX_CHECK(false);
}

bool allows(const StationDefinition& station, JobAllowance allowance) {
  const auto& names = station.environment;
  return std::find(names.begin(), names.end(), variable_of(allowance)) != names.end();
}

std::optional<BuiltinStation> parse_builtin(const std::string& name) {
  BuiltinStation builtin{};
  if (!boost::describe::enum_from_string(name.c_str(), builtin)) return std::nullopt;
  return builtin;
}

std::optional<BuiltinStation> builtin_of(const StationDefinition& station) {
  if (station.executor != ExecutorKind::builtin) return std::nullopt;
  return parse_builtin(station.name);
}

StationDefinition builtin_station(BuiltinStation builtin, const std::string& remote) {
  StationDefinition station;
  station.name = boost::describe::enum_to_string(builtin, "?");
  station.executor = ExecutorKind::builtin;
  station.remote = remote;
  return station;
}

Decided<void> validate(const PipelineDefinition& pipeline) {
  if (!is_name(pipeline.name)) {
    return pipeline_invalid("name", "must be 1 to 64 letters, digits and '_'");
  }
  if (pipeline.stations.empty()) {
    return pipeline_invalid("station", "is missing: a pipeline needs one, in TOML [[station]]");
  }
  if (pipeline.stations.size() > limits::stations_max) {
    return pipeline_invalid(
        "station", "may be there at most " + std::to_string(limits::stations_max) + " times");
  }
  TRY(validate_labels(pipeline));
  TRY(validate(pipeline.budget));
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const StationDefinition& station : pipeline.stations) {
    TRY(validate(station));
    const std::string& name = station.name;
    if (!names.insert(name).second) return pipeline_invalid(name, "name", "is there twice");
    bytes += text_bytes(station);
  }
  if (bytes > limits::pipeline_bytes_max) {
    const std::string bytes_max = std::to_string(limits::pipeline_bytes_max);
    return pipeline_invalid("station", "takes more than " + bytes_max +
                                           " bytes in all; put long commands into a script");
  }
  return {};
}

PipelineDefinition default_pipeline() {
  PipelineDefinition pipeline;
  pipeline.name = "default";
  pipeline.stations.push_back(builtin_station(BuiltinStation::intake));
  for (const char* name : {"plan", "implement", "verify"}) {
    pipeline.stations.emplace_back().name = name;
  }
  pipeline.stations.push_back(builtin_station(BuiltinStation::create_pr));
  return pipeline;
}

PipelineDefinition card_pipeline(const std::string& remote) {
  PipelineDefinition pipeline;
  pipeline.name = "card";
  const auto add = [&pipeline](const char* name, ExecutorKind executor) -> StationDefinition& {
    StationDefinition& station = pipeline.stations.emplace_back();
    station.name = name;
    station.executor = executor;
    return station;
  };
  pipeline.stations.push_back(builtin_station(BuiltinStation::intake));
  add("implement", ExecutorKind::coderunner).coderunner.emplace();
  add("verify", ExecutorKind::checks).checks.emplace();
  pipeline.stations.push_back(builtin_station(BuiltinStation::create_pr, remote));
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
