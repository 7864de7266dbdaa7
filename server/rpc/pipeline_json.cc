#include "server/rpc/pipeline_json.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <toml++/toml.h>

#include "domain/limits.h"
#include "domain/placement.h"
#include "domain/retry_policy.h"
#include "domain/try.h"
#include "server/text/described_json.h"
#include "server/text/json_text.h"
#include "server/text/time_text.h"
#include "server/text/toml_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The tables as they are written in a file: durations are text with a unit.
struct RetryTable {
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> backoff;
  std::vector<Strategy> strategies;
};
BOOST_DESCRIBE_STRUCT(RetryTable, (), (max_retries, backoff, strategies))

struct RemoteJobTable {
  std::string endpoint;
  std::optional<std::string> poll;
};
BOOST_DESCRIBE_STRUCT(RemoteJobTable, (), (endpoint, poll))

struct CoderunnerTable {
  std::optional<Agent> agent;
  std::optional<CoderunnerMode> mode;
  std::optional<std::string> prompt;
  std::optional<std::string> model;
};
BOOST_DESCRIBE_STRUCT(CoderunnerTable, (), (agent, mode, prompt, model))

struct CheckTable {
  std::string name;
  std::vector<std::string> command;
  std::optional<std::string> timeout;
};
BOOST_DESCRIBE_STRUCT(CheckTable, (), (name, command, timeout))

struct PhaseTable {
  std::vector<std::string> command;
  std::optional<bool> worker;
};
BOOST_DESCRIBE_STRUCT(PhaseTable, (), (command, worker))

struct DeepWorkTable {
  std::optional<PhaseTable> explore;
  std::optional<PhaseTable> plan;
  std::optional<PhaseTable> step;
  std::optional<std::uint32_t> max_files;
  std::optional<std::string> explore_timeout;
  std::optional<std::uint32_t> max_steps;
  std::optional<std::uint32_t> max_retries;
  std::optional<std::string> retry_delay;
  std::optional<std::string> step_timeout;
  std::vector<Strategy> strategies;
};
BOOST_DESCRIBE_STRUCT(DeepWorkTable, (),
                      (explore, plan, step, max_files, explore_timeout, max_steps, max_retries,
                       retry_delay, step_timeout, strategies))

struct StationTable {
  std::string name;
  std::optional<ExecutorKind> executor;
  std::vector<std::string> command;
  std::optional<std::string> timeout;
  std::optional<std::string> heartbeat_timeout;
  std::optional<std::string> cancel_grace;
  std::optional<bool> require_result;
  std::vector<std::string> environment;
  std::vector<JobAllowance> allow;
  std::optional<std::string> remote;
  std::optional<RetryTable> retry;
  std::optional<std::string> stall_after;
  std::vector<StallAction> stall_actions;
  std::optional<CoderunnerTable> coderunner;
  std::optional<RemoteJobTable> modal;
  std::vector<CheckTable> checks;
  std::optional<std::string> instructions;  // for checks: the file that lists them
  std::optional<DeepWorkTable> deep_work;
};
BOOST_DESCRIBE_STRUCT(StationTable, (),
                      (name, executor, command, timeout, heartbeat_timeout, cancel_grace,
                       require_result, environment, allow, remote, retry, stall_after,
                       stall_actions, coderunner, modal, checks, instructions, deep_work))

struct BudgetTable {
  std::optional<std::int64_t> cost_microusd;
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> turns;
};
BOOST_DESCRIBE_STRUCT(BudgetTable, (), (cost_microusd, tokens, turns))

struct PipelineTable {
  std::string name;
  std::optional<std::vector<std::string>> runs_on;
  std::vector<StationTable> station;
  std::optional<BudgetTable> budget;
};
BOOST_DESCRIBE_STRUCT(PipelineTable, (), (name, runs_on, station, budget))

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

PhaseDefinition phase_from(std::optional<PhaseTable>& table) {
  if (!table) return {};
  return {std::move(table->command), table->worker.value_or(false)};
}

Decided<void> read_deep_work(DeepWorkTable& table, const std::string& station,
                             DeepWorkDefinition& work) {
  work.explore = phase_from(table.explore);
  work.plan = phase_from(table.plan);
  work.step = phase_from(table.step);
  work.max_files = table.max_files.value_or(work.max_files);
  work.max_steps = table.max_steps.value_or(work.max_steps);
  work.max_retries = table.max_retries.value_or(work.max_retries);
  if (!table.strategies.empty()) work.strategies = std::move(table.strategies);
  const std::tuple<const std::optional<std::string>&, const char*, std::int64_t&> durations[] = {
      {table.explore_timeout, "deep_work.explore_timeout", work.explore_timeout_ms},
      {table.retry_delay, "deep_work.retry_delay", work.retry_delay_ms},
      {table.step_timeout, "deep_work.step_timeout", work.step_timeout_ms}};
  for (const auto& [text, field, ms] : durations) {
    if (auto ok = read_duration(text, station, field, ms); !ok) return ok;
  }
  return {};
}

Decided<void> read_checks(std::vector<CheckTable>& tables, const std::string& station,
                          ChecksDefinition& checks) {
  for (CheckTable& table : tables) {
    CheckDefinition& check = checks.checks.emplace_back();
    check.name = std::move(table.name);
    check.command = std::move(table.command);
    if (auto ok = read_duration(table.timeout, station, "checks.timeout", check.timeout_ms); !ok) {
      return ok;
    }
  }
  return {};
}

// Reads the settings of the station's executor. An executor whose settings are optional gets
// defaults.
Decided<void> read_executor(StationTable& table, StationDefinition& station) {
  if (table.coderunner || station.executor == ExecutorKind::coderunner) {
    const CoderunnerTable own = table.coderunner.value_or(CoderunnerTable{});
    station.coderunner = {own.agent.value_or(Agent::claude), own.mode, own.prompt.value_or(""),
                          own.model.value_or("")};
  }
  if (table.modal) {
    RemoteJobDefinition& remote = station.modal.emplace();
    remote.endpoint = table.modal->endpoint;
    if (auto ok = read_duration(table.modal->poll, station.name, "modal.poll", remote.poll_ms);
        !ok) {
      return ok;
    }
  }
  if (!table.checks.empty() || table.instructions || station.executor == ExecutorKind::checks) {
    station.checks.emplace().instructions = table.instructions.value_or("");
    if (auto ok = read_checks(table.checks, station.name, *station.checks); !ok) return ok;
  }
  if (table.deep_work || station.executor == ExecutorKind::deep_work) {
    DeepWorkTable own = table.deep_work.value_or(DeepWorkTable{});
    return read_deep_work(own, station.name, station.deep_work.emplace());
  }
  return {};
}

// Writes the settings as they were given, with defaults in place of what was left out.
void write_executor(const StationDefinition& station, StationTable& table) {
  if (station.coderunner) {
    table.coderunner = {station.coderunner->agent, station.coderunner->mode,
                        station.coderunner->prompt, station.coderunner->model};
  }
  if (station.modal) {
    table.modal = {station.modal->endpoint, format_duration_ms(station.modal->poll_ms)};
  }
  if (station.checks) {
    for (const CheckDefinition& check : station.checks->checks) {
      table.checks.push_back({check.name, check.command, format_duration_ms(check.timeout_ms)});
    }
    table.instructions = station.checks->instructions;
  }
  if (!station.deep_work) return;
  const DeepWorkDefinition& work = *station.deep_work;
  const auto phase = [](const PhaseDefinition& each) {
    return PhaseTable{each.command, each.worker};
  };
  table.deep_work = {phase(work.explore),
                     phase(work.plan),
                     phase(work.step),
                     work.max_files,
                     format_duration_ms(work.explore_timeout_ms),
                     work.max_steps,
                     work.max_retries,
                     format_duration_ms(work.retry_delay_ms),
                     format_duration_ms(work.step_timeout_ms),
                     work.strategies};
}

// Takes the allowances out of `environment`, which is that of a definition, and returns them.
std::vector<JobAllowance> take_allowances(std::vector<std::string>& environment) {
  std::vector<JobAllowance> allowed;
  for (const JobAllowance each : {JobAllowance::locks, JobAllowance::ticks}) {
    if (std::erase(environment, variable_of(each)) > 0) allowed.push_back(each);
  }
  return allowed;
}

// Adds what the job is allowed to the variables that it gets, where a definition keeps it: each
// once, after the others and in this order, so that equal tables make equal definitions.
void read_allowances(std::vector<JobAllowance> allowed, StationDefinition& station) {
  const std::vector<JobAllowance> named = take_allowances(station.environment);
  allowed.insert(allowed.end(), named.begin(), named.end());
  for (const JobAllowance each : {JobAllowance::locks, JobAllowance::ticks}) {
    if (std::find(allowed.begin(), allowed.end(), each) == allowed.end()) continue;
    station.environment.push_back(variable_of(each));
  }
}

// Takes the labels out of `environment`, which is that of a definition, into `labels`.
void take_labels(std::vector<std::string>& environment, std::set<std::string>& labels) {
  StationDefinition station;
  station.environment = environment;
  for (std::string& label : labels_of(station)) {
    std::erase(environment, variable_of_label(label));
    labels.insert(std::move(label));
  }
}

// Writes the labels of `runs_on` to the stations that have a job, where a definition keeps them, so
// that equal tables make equal definitions. One that a station names itself is the pipeline's, too:
// all jobs of a run are executed at one place.
void read_labels(const std::vector<std::string>& runs_on, PipelineDefinition& pipeline) {
  std::set<std::string> labels(runs_on.begin(), runs_on.end());
  for (StationDefinition& station : pipeline.stations) take_labels(station.environment, labels);
  const bool any_job = std::any_of(pipeline.stations.begin(), pipeline.stations.end(), has_job);
  for (StationDefinition& station : pipeline.stations) {
    if (any_job && !has_job(station)) continue;
    for (const std::string& label : labels) station.environment.push_back(variable_of_label(label));
  }
}

// Returns the number as the definition names it. What it leaves out is left out again, since the
// default isn't the same as a number that is named; another number was stored by older versions.
std::optional<std::uint32_t> max_retries_of(const RetryPolicy& retry) {
  if (!retry.max_retries_named && retry.max_retries == RetryPolicy{}.max_retries) return {};
  return retry.max_retries;
}

// Returns the time in which an attempt of deep work may explore, plan, and try each step as often
// as its retries allow (ms).
std::int64_t timeout_of_all_steps(const DeepWorkDefinition& work) {
  if (work.max_steps > limits::plan_steps_max || work.max_retries > limits::retries_max) {
    return limits::timeout_ms_max;  // it is refused later
  }
  const std::int64_t tries =
      std::int64_t{work.max_steps} * (std::int64_t{work.max_retries} + 1) + 1;
  const std::int64_t longest = limits::timeout_ms_max - work.explore_timeout_ms;
  if (work.step_timeout_ms + work.retry_delay_ms > longest / tries) return limits::timeout_ms_max;
  return work.explore_timeout_ms + tries * (work.step_timeout_ms + work.retry_delay_ms);
}

Decided<StationDefinition> station_from(StationTable& table) {
  StationDefinition station;
  station.name = std::move(table.name);
  station.executor = table.executor.value_or(ExecutorKind::worker);
  station.command = std::move(table.command);
  station.require_result = table.require_result.value_or(false);
  station.environment = std::move(table.environment);
  read_allowances(table.allow, station);
  station.remote = table.remote.value_or("");
  const auto duration = [&](const std::optional<std::string>& text, const char* field,
                            std::int64_t& ms) {
    return read_duration(text, station.name, field, ms);
  };
  TRY(duration(table.timeout, "timeout", station.timeout_ms));
  if (auto ok =
          duration(table.heartbeat_timeout, "heartbeat_timeout", station.heartbeat_timeout_ms);
      !ok) {
    return tl::unexpected(ok.error());
  }
  TRY(duration(table.cancel_grace, "cancel_grace", station.cancel_grace_ms));
  TRY(duration(table.stall_after, "stall_after", station.stall_after_ms));
  if (!table.stall_actions.empty()) station.stall_actions = table.stall_actions;
  TRY(read_executor(table, station));
  // Each step has a time of its own; what all of them may take isn't for the usual timeout to end.
  if (!table.timeout && station.deep_work)
    station.timeout_ms = timeout_of_all_steps(*station.deep_work);
  if (table.retry) {
    TRY(duration(table.retry->backoff, "retry.backoff", station.retry.backoff_ms));
    if (!table.retry->strategies.empty()) station.retry.strategies = table.retry->strategies;
    if (table.retry->max_retries) name_max_retries(station.retry, *table.retry->max_retries);
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
  if (table->budget) {
    pipeline.budget = {table->budget->cost_microusd.value_or(0), table->budget->tokens.value_or(0),
                       table->budget->turns.value_or(0)};
  }
  for (StationTable& each : table->station) {
    auto station = TRY(station_from(each));
    pipeline.stations.push_back(std::move(station));
  }
  read_labels(table->runs_on.value_or(std::vector<std::string>()), pipeline);
  TRY(validate(pipeline));
  return pipeline;
}

json::object pipeline_to_json(const PipelineDefinition& pipeline) {
  PipelineTable table{pipeline.name, {}, {}, {}};
  std::set<std::string> labels;
  if (pipeline.budget != Budget{}) {
    table.budget = {pipeline.budget.cost_microusd, pipeline.budget.tokens, pipeline.budget.turns};
  }
  for (const StationDefinition& station : pipeline.stations) {
    std::vector<std::string> environment = station.environment;
    std::vector<JobAllowance> allowed = take_allowances(environment);
    take_labels(environment, labels);
    StationTable& own = table.station.emplace_back(StationTable{
        station.name,
        station.executor,
        station.command,
        format_duration_ms(station.timeout_ms),
        format_duration_ms(station.heartbeat_timeout_ms),
        format_duration_ms(station.cancel_grace_ms),
        station.require_result,
        std::move(environment),
        std::move(allowed),
        station.remote,
        RetryTable{max_retries_of(station.retry), format_duration_ms(station.retry.backoff_ms),
                   station.retry.strategies},
        station.stall_after_ms == 0 ? std::nullopt
                                    : std::optional(format_duration_ms(station.stall_after_ms)),
        station.stall_actions,
        {},
        {},
        {},
        {},
        {}});
    write_executor(station, own);
  }
  if (!labels.empty()) table.runs_on.emplace(labels.begin(), labels.end());
  return to_json(table).as_object();
}

Decided<json::value> json_from_toml(std::string_view text) {
  const auto table = parse_toml(text);
  if (!table) {
    const TomlError& error = table.error();
    return reject(ErrorCode::PIPELINE_INVALID,
                  "line " + std::to_string(error.line) + ", column " +
                      std::to_string(error.column) + ": " + error.message,
                  {{"line", static_cast<std::int64_t>(error.line)},
                   {"column", static_cast<std::int64_t>(error.column)}});
  }
  std::ostringstream out;
  out << toml::json_formatter{*table};
  auto value = parse_json(out.str());
  if (!value) value.error().code = ErrorCode::PIPELINE_INVALID;
  return value;
}

}  // namespace signalbox
