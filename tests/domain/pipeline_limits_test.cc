// The limits of a pipeline's definition. P8
#include <gtest/gtest.h>

#include <functional>

#include "domain/limits.h"
#include "domain/pipeline.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

using Change = std::function<void(StationDefinition&)>;

StationDefinition station_with(ExecutorKind executor) {
  StationDefinition station = worker_station("a");
  station.executor = executor;
  if (executor == ExecutorKind::process) station.command = {"true"};
  if (executor == ExecutorKind::checks) {
    station.checks.emplace().checks = {CheckDefinition{"tests", {"true"}}};
  }
  if (executor == ExecutorKind::deep_work) station.deep_work.emplace();
  if (executor == ExecutorKind::modal) station.modal.emplace().endpoint = "https://jobs.invalid/";
  return station;
}

// Returns the field for which the pipeline is refused; empty if it is accepted.
std::string refused_field(const PipelineDefinition& pipeline) {
  const auto valid = validate(pipeline);
  if (valid) return {};
  EXPECT_EQ(valid.error().code, ErrorCode::PIPELINE_INVALID);
  return std::get<std::string>(valid.error().details[1].value);
}

std::string refused_field(StationDefinition station, const Change& change) {
  change(station);
  return refused_field(PipelineDefinition{"one", {std::move(station)}});
}

// A value at its limit, the one beyond it, and the field that the refusal names.
struct Bound {
  const char* field;
  ExecutorKind executor;
  Change at_limit;
  Change beyond;
};

template <class Value>
Bound bound(const char* field, ExecutorKind executor, Value limit, Value beyond,
            std::function<void(StationDefinition&, Value)> set) {
  return {field, executor, [set, limit](StationDefinition& station) { set(station, limit); },
          [set, beyond](StationDefinition& station) { set(station, beyond); }};
}

TEST(PipelineLimits, OfAStation) {
  using enum ExecutorKind;
  using Station = StationDefinition;
  using Number = std::int64_t;
  constexpr Number timeout = limits::timeout_ms_max;
  constexpr Number ten_minutes = 10 * 60 * 1000;
  constexpr Number backoff = limits::backoff_ms_max;
  constexpr Number retries = limits::retries_max;
  constexpr Number steps = static_cast<Number>(limits::plan_steps_max);
  constexpr Number files = static_cast<Number>(limits::explored_files_max);
  const auto count = [](Number value) { return static_cast<std::uint32_t>(value); };
  const auto set_timeout = [](Station& s, Number v) { s.timeout_ms = v; };
  const auto set_lease = [](Station& s, Number v) { s.heartbeat_timeout_ms = v; };
  const auto set_check = [](Station& s, Number v) { s.checks->checks[0].timeout_ms = v; };
  const auto set_grace = [](Station& s, Number v) { s.cancel_grace_ms = v; };
  const auto set_poll = [](Station& s, Number v) { s.modal->poll_ms = v; };
  const auto set_steps = [count](Station& s, Number v) { s.deep_work->max_steps = count(v); };
  const auto set_explore = [](Station& s, Number v) { s.deep_work->explore_timeout_ms = v; };
  const auto set_step = [](Station& s, Number v) { s.deep_work->step_timeout_ms = v; };
  const auto set_delay = [](Station& s, Number v) { s.deep_work->retry_delay_ms = v; };
  const std::vector<Bound> bounds = {
      bound<Number>("timeout", worker, 1, 0, set_timeout),
      bound<Number>("timeout", worker, timeout, timeout + 1, set_timeout),
      bound<Number>("heartbeat_timeout", worker, limits::lease_ms_min, limits::lease_ms_min - 1,
                    set_lease),
      bound<Number>("heartbeat_timeout", worker, limits::lease_ms_max, limits::lease_ms_max + 1,
                    set_lease),
      bound<Number>("stall_after", worker, timeout, timeout + 1,
                    [](Station& s, Number v) { s.stall_after_ms = v; }),
      bound<std::size_t>(
          "stall_actions", worker, limits::stall_actions_max, limits::stall_actions_max + 1,
          [](Station& s, std::size_t v) { s.stall_actions.assign(v, StallAction::nudge); }),
      bound<Number>("retry.max_retries", worker, retries, retries + 1,
                    [count](Station& s, Number v) { s.retry.max_retries = count(v); }),
      bound<Number>("retry.backoff", worker, backoff, backoff + 1,
                    [](Station& s, Number v) { s.retry.backoff_ms = v; }),
      bound<std::size_t>(
          "checks", checks, limits::checks_max, limits::checks_max + 1,
          [](Station& s, std::size_t v) {
            s.checks->checks.clear();
            for (std::size_t check = 0; check < v; ++check) {
              s.checks->checks.push_back({"check" + std::to_string(check), {"true"}});
            }
          }),
      bound<Number>("checks.timeout", checks, timeout, timeout + 1, set_check),
      bound<Number>("checks.timeout", checks, 1, 0, set_check),
      bound<Number>("cancel_grace", worker, 0, -1, set_grace),
      bound<Number>("cancel_grace", worker, ten_minutes, ten_minutes + 1, set_grace),
      bound<Number>("modal.poll", modal, 10, 9, set_poll),
      bound<Number>("modal.poll", modal, ten_minutes, ten_minutes + 1, set_poll),
      bound<Number>("deep_work.max_steps", deep_work, 1, 0, set_steps),
      bound<Number>("deep_work.max_steps", deep_work, steps, steps + 1, set_steps),
      bound<Number>("deep_work.max_files", deep_work, files, files + 1,
                    [count](Station& s, Number v) { s.deep_work->max_files = count(v); }),
      bound<Number>("deep_work.max_retries", deep_work, retries, retries + 1,
                    [count](Station& s, Number v) { s.deep_work->max_retries = count(v); }),
      bound<Number>("deep_work", deep_work, timeout, timeout + 1, set_explore),
      bound<Number>("deep_work", deep_work, timeout, timeout + 1, set_step),
      bound<Number>("deep_work.retry_delay", deep_work, backoff, backoff + 1, set_delay),
      bound<std::size_t>("modal.endpoint", modal, limits::path_bytes_max,
                         limits::path_bytes_max + 1,
                         [](Station& s, std::size_t v) { s.modal->endpoint.resize(v, 'x'); }),
  };
  for (const Bound& each : bounds) {
    EXPECT_EQ(refused_field(station_with(each.executor), each.at_limit), "") << each.field;
    EXPECT_EQ(refused_field(station_with(each.executor), each.beyond), each.field);
  }
}

TEST(PipelineLimits, ARefusalHasTheBound) {
  const auto message = [](ExecutorKind executor, const Change& change) {
    StationDefinition station = station_with(executor);
    change(station);
    const auto valid = validate(PipelineDefinition{"one", {station}});
    return valid ? std::string() : valid.error().message;
  };
  EXPECT_EQ(message(ExecutorKind::worker,
                    [](StationDefinition& s) { s.retry.max_retries = limits::retries_max + 1; }),
            "station a: retry.max_retries must be at most 100");
  EXPECT_EQ(message(ExecutorKind::checks,
                    [](StationDefinition& s) {
                      s.checks->checks.resize(limits::checks_max + 1, s.checks->checks[0]);
                    }),
            "station a: checks must be at most 32");
}

TEST(PipelineLimits, SettingsBelongToTheirExecutor) {
  const auto of_deep_work = [](StationDefinition& s) { s.deep_work.emplace(); };
  EXPECT_EQ(refused_field(station_with(ExecutorKind::worker), of_deep_work), "deep_work");
  EXPECT_EQ(refused_field(station_with(ExecutorKind::deep_work), of_deep_work), "");
  const auto of_nothing = [](StationDefinition& s) { s.command = {""}; };
  EXPECT_EQ(refused_field(station_with(ExecutorKind::process), of_nothing), "command");
}

// There are fewer strategies than the limit has room for, so a list at the limit repeats one.
TEST(PipelineLimits, OfItsStrategies) {
  const auto why_refused = [](std::size_t strategies) {
    std::vector<std::string> problems;
    PipelineDefinition of_retry{"one", {worker_station("a")}};
    of_retry.stations[0].retry.strategies.assign(strategies, Strategy::original);
    PipelineDefinition of_steps{"one", {station_with(ExecutorKind::deep_work)}};
    of_steps.stations[0].deep_work->strategies.assign(strategies, Strategy::original);
    for (const PipelineDefinition& pipeline : {of_retry, of_steps}) {
      const auto valid = validate(pipeline);
      problems.push_back(valid ? "" : valid.error().message);
    }
    return problems;
  };
  for (const std::string& problem : why_refused(limits::strategies_max)) {
    EXPECT_NE(problem.find("names one twice"), std::string::npos) << problem;
  }
  for (const std::string& problem : why_refused(limits::strategies_max + 1)) {
    EXPECT_NE(problem.find("must name one to eight strategies"), std::string::npos) << problem;
  }
}

TEST(PipelineLimits, OfItsStations) {
  PipelineDefinition pipeline{"many", {}};
  while (pipeline.stations.size() < limits::stations_max) {
    pipeline.stations.push_back(worker_station("s" + std::to_string(pipeline.stations.size())));
  }
  EXPECT_EQ(refused_field(pipeline), "");
  pipeline.stations.push_back(worker_station("another"));
  EXPECT_EQ(refused_field(pipeline), "station");
}

TEST(PipelineLimits, OfItsBudget) {
  PipelineDefinition pipeline{"one", {worker_station("a")}};
  pipeline.budget.tokens = limits::usage_max;
  EXPECT_TRUE(validate(pipeline));
  ++pipeline.budget.tokens;
  ASSERT_FALSE(validate(pipeline));
  EXPECT_EQ(validate(pipeline).error().code, ErrorCode::INVALID_PARAMS);
}

// The text is counted with something for each of its parts, so a single argument has a bit less.
TEST(PipelineLimits, OfItsText) {
  const auto is_accepted = [](std::size_t bytes) {
    PipelineDefinition pipeline{"one", {process_station("a")}};
    pipeline.stations[0].command = {std::string(bytes, 'x')};
    return refused_field(pipeline).empty();
  };
  std::size_t accepted = 1;
  std::size_t refused = limits::pipeline_bytes_max + 1;
  while (refused - accepted > 1) {
    const std::size_t bytes = accepted + (refused - accepted) / 2;
    (is_accepted(bytes) ? accepted : refused) = bytes;
  }
  EXPECT_LT(accepted, limits::pipeline_bytes_max);
  EXPECT_GT(accepted, limits::pipeline_bytes_max - 256);
}

// Each part of a definition is in the run's first event.
TEST(PipelineLimits, OfAllItsTexts) {
  const std::string long_text(limits::pipeline_bytes_max, 'x');
  using enum ExecutorKind;
  const std::vector<std::pair<ExecutorKind, Change>> changes = {
      {worker, [&](StationDefinition& s) { s.remote = long_text; }},
      {worker, [&](StationDefinition& s) { s.environment = {long_text}; }},
      {checks, [&](StationDefinition& s) { s.checks->instructions = long_text; }},
      {checks, [&](StationDefinition& s) { s.checks->checks[0].command = {long_text}; }},
      {deep_work, [&](StationDefinition& s) { s.deep_work->explore.command = {long_text}; }},
      {deep_work, [&](StationDefinition& s) { s.deep_work->plan.command = {long_text}; }},
      {deep_work, [&](StationDefinition& s) { s.deep_work->step.command = {long_text}; }},
  };
  for (std::size_t each = 0; each < changes.size(); ++each) {
    const auto& [executor, change] = changes[each];
    EXPECT_EQ(refused_field(station_with(executor), change), "station") << each;
  }
}

// A retry that waits for an hour at most, however often it was tried.
TEST(PipelineLimits, OfABackoff) {
  RetryPolicy policy;
  policy.backoff_ms = limits::backoff_ms_max / 2 + 1;
  EXPECT_EQ(backoff_ms(policy, 1), limits::backoff_ms_max / 2 + 1);
  EXPECT_EQ(backoff_ms(policy, 2), limits::backoff_ms_max);
  EXPECT_EQ(backoff_ms(policy, limits::retries_max), limits::backoff_ms_max);
}

}  // namespace
}  // namespace signalbox
