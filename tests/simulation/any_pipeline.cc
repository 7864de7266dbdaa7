#include "tests/simulation/any_pipeline.h"

#include <array>

namespace signalbox::simulation {
namespace {

RetryPolicy any_retry(SeededRandom& random) {
  RetryPolicy retry;
  retry.max_retries = static_cast<std::uint32_t>(random.below(5));
  retry.backoff_ms = random.between(0, 300);
  const std::vector<Strategy> all{Strategy::original, Strategy::simplified, Strategy::alternative,
                                  Strategy::decomposed};
  retry.strategies.assign(all.begin(), all.begin() + random.between(1, 4));
  return retry;
}

// By a command, by an outside worker, or the default.
PhaseDefinition any_phase(SeededRandom& random, const char* command) {
  switch (random.below(3)) {
    case 0:
      return {{command}, false};
    case 1:
      return {{}, true};
    default:
      return {};
  }
}

DeepWorkDefinition any_deep_work(SeededRandom& random) {
  DeepWorkDefinition work;
  work.explore = any_phase(random, "explore");
  work.plan = any_phase(random, "plan");
  if (random.one_in(2)) work.step.command = {"step"};
  work.max_files = static_cast<std::uint32_t>(random.between(0, 4));
  work.explore_timeout_ms = random.between(200, 1500);
  work.max_steps = static_cast<std::uint32_t>(random.between(2, 6));
  work.max_retries = static_cast<std::uint32_t>(random.below(4));
  work.retry_delay_ms = random.one_in(2) ? 0 : random.between(1, 800);
  work.step_timeout_ms = random.between(400, 6000);
  work.strategies.resize(static_cast<std::size_t>(random.between(1, 4)));
  return work;
}

StationDefinition any_station(SeededRandom& random, const std::string& name,
                              ExecutorKind executor) {
  StationDefinition station;
  station.name = name;
  station.executor = executor;
  if (executor == ExecutorKind::process) station.command = {"make", name};
  if (executor == ExecutorKind::coderunner) station.coderunner.emplace();
  if (executor == ExecutorKind::modal) station.modal = {"https://jobs.example/run"};
  station.timeout_ms = random.between(1000, 15'000);
  if (executor == ExecutorKind::deep_work) {
    station.deep_work = any_deep_work(random);
    station.timeout_ms = random.between(3000, 30'000);
  }
  station.heartbeat_timeout_ms = random.between(200, 3000);
  if (random.one_in(3)) {
    station.stall_after_ms = random.between(200, 2000);
    station.stall_actions = {StallAction::nudge, StallAction::next_strategy, StallAction::fail};
    station.stall_actions.resize(static_cast<std::size_t>(random.between(1, 3)));
  }
  station.retry = any_retry(random);
  return station;
}

ExecutorKind any_job(SeededRandom& random) {
  constexpr std::array kinds{ExecutorKind::process, ExecutorKind::coderunner, ExecutorKind::modal,
                             ExecutorKind::checks};
  return random.any_of(kinds);
}

}  // namespace

PipelineDefinition any_pipeline(SeededRandom& random) {
  const auto station = [&random](const char* name, ExecutorKind executor) {
    return any_station(random, name, executor);
  };
  constexpr auto worker = ExecutorKind::worker;
  constexpr auto builtin = ExecutorKind::builtin;
  constexpr auto approval = ExecutorKind::approval;
  constexpr auto deep_work = ExecutorKind::deep_work;
  switch (random.below(9)) {
    case 0:
      return {"short", {station("work", worker)}};
    case 1:
      return {"mixed",
              {station("plan", worker), station("implement", any_job(random)),
               station("verify", worker)}};
    case 2:
      return {"built", {station("compile", any_job(random)), station("test", any_job(random))}};
    case 3:
      return {"whole",
              {station("intake", builtin), station("implement", worker),
               station("create_pr", builtin)}};
    case 4:
      return {"approved",
              {station("implement", worker), station("approve_code", approval),
               station("approve_release", approval), station("release", worker)}};
    case 5:
      return {"permitted", {station("permit", approval), station("work", any_job(random))}};
    case 6:
      return {"reviewed",
              {station("plan", worker), station("implement", deep_work),
               station("review", approval), station("create_pr", builtin)}};
    default:
      return {"deep", {station("implement", deep_work), station("verify", worker)}};
  }
}

PipelineDefinition any_card_pipeline(SeededRandom& random) {
  const bool by_worker = random.one_in(2);
  PipelineDefinition pipeline{
      "card",
      {any_station(random, "implement", by_worker ? ExecutorKind::worker : any_job(random)),
       any_station(random, "verify", random.one_in(2) ? ExecutorKind::worker : any_job(random))}};
  if (random.one_in(3)) {
    pipeline.stations.push_back(any_station(random, "create_pr", ExecutorKind::builtin));
  }
  return pipeline;
}

Budget any_budget(SeededRandom& random) {
  Budget budget;
  switch (random.below(3)) {
    case 0:
      budget.cost_microusd = random.between(1000, 300'000);
      break;
    case 1:
      budget.tokens = random.between(10, 3000);
      break;
    default:
      budget.turns = random.between(1, 20);
      break;
  }
  return budget;
}

}  // namespace signalbox::simulation
