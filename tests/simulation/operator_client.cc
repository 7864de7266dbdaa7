#include "tests/simulation/operator_client.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "server/rpc/pipeline_json.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr int runs_max = 20;
constexpr std::int64_t patience_ms = 2000;

RetryPolicy any_retry(SeededRandom& random) {
  RetryPolicy retry;
  retry.max_retries = static_cast<std::uint32_t>(random.below(5));
  retry.backoff_ms = random.between(0, 300);
  const std::vector<Strategy> all{Strategy::original, Strategy::simplified, Strategy::alternative,
                                  Strategy::decomposed};
  retry.strategies.assign(all.begin(), all.begin() + random.between(1, 4));
  return retry;
}

StationDefinition any_station(SeededRandom& random, const std::string& name,
                              ExecutorKind executor) {
  StationDefinition station;
  station.name = name;
  station.executor = executor;
  if (executor == ExecutorKind::process) station.command = {"make", name};
  station.timeout_ms = random.between(1000, 15'000);
  station.heartbeat_timeout_ms = random.between(200, 3000);
  if (random.one_in(3)) {
    station.stall_after_ms = random.between(200, 2000);
    station.stall_actions = {StallAction::nudge, StallAction::next_strategy, StallAction::fail};
    station.stall_actions.resize(static_cast<std::size_t>(random.between(1, 3)));
  }
  station.retry = any_retry(random);
  return station;
}

PipelineDefinition any_pipeline(SeededRandom& random) {
  constexpr auto worker = ExecutorKind::worker;
  constexpr auto process = ExecutorKind::process;
  switch (random.below(4)) {
    case 0:
      return {"short", {any_station(random, "work", worker)}};
    case 1:
      return {"mixed",
              {any_station(random, "plan", worker), any_station(random, "implement", process),
               any_station(random, "verify", worker)}};
    case 2:
      return {"built",
              {any_station(random, "compile", process), any_station(random, "test", process)}};
    default:
      return {"whole",
              {any_station(random, "intake", ExecutorKind::builtin),
               any_station(random, "implement", worker),
               any_station(random, "create_pr", ExecutorKind::builtin)}};
  }
}

}  // namespace

void OperatorClient::begin() {
  const std::int64_t idle_ms = environment_.random.one_in(4) ? 20'000 : 500;
  environment_.schedule.after(environment_.random.between(0, idle_ms) * ns_per_ms, outside,
                              [this] { act(); });
}

void OperatorClient::pause() {
  environment_.schedule.after(environment_.random.between(20, 2500) * ns_per_ms, outside,
                              [this] { act(); });
}

void OperatorClient::act() {
  if (environment_.faults.stopped()) return;
  switch (environment_.random.below(13)) {
    case 0:
      return cancel_run();
    case 1:
      return start_again();
    case 2:
      return repeat_last();
    case 3:
      return start_another_under_a_known_key();
    case 4:
    case 5:
      return look_at_run();
    case 6:
      return list_runs();
    default:
      return start_run();
  }
}

void OperatorClient::start_run() {
  if (++runs_ > runs_max) return pause();
  json::object params{{"goal", "goal " + std::to_string(runs_)},
                      {"pipeline", pipeline_to_json(any_pipeline(environment_.random))}};
  std::string key;
  if (environment_.random.per_cent(60)) {
    key = caller_.name() + "-key-" + std::to_string(runs_);
    params["idempotency_key"] = key;
    keyed_[key].params = params;
  }
  caller_.ask("run.start", params, patience_ms, [this, key](const Reply& reply) {
    if (reply.code.empty()) {
      run_ids_.emplace_back(reply.result.at("run_id").as_string());
      if (!key.empty()) keyed_[key].run_id = run_ids_.back();
    } else if (reply.code != "GAVE_UP") {
      environment_.violate("a run was refused: " + reply.code);
    }
    pause();
  });
}

// S2: the same key and body, under another command id.
void OperatorClient::start_again() {
  if (keyed_.empty()) return pause();
  const auto place = std::next(
      keyed_.begin(), static_cast<std::ptrdiff_t>(environment_.random.below(keyed_.size())));
  Start& start = place->second;
  caller_.ask("run.start", start.params, patience_ms, [this, &start](const Reply& reply) {
    if (reply.code.empty()) {
      const std::string run_id(reply.result.at("run_id").as_string());
      if (start.run_id.empty()) start.run_id = run_id;
      environment_.expect(start.run_id == run_id, "one key led to two runs");
    } else {
      environment_.expect(reply.code == "GAVE_UP", "a repeated start was refused: " + reply.code);
    }
    pause();
  });
}

void OperatorClient::start_another_under_a_known_key() {
  const auto known = std::find_if(keyed_.begin(), keyed_.end(),
                                  [](const auto& entry) { return !entry.second.run_id.empty(); });
  if (known == keyed_.end()) return pause();
  json::object params = known->second.params;
  params["goal"] = "something else";
  caller_.ask("run.start", params, patience_ms, [this](const Reply& reply) {
    environment_.expect(reply.code == "IDEMPOTENCY_CONFLICT" || reply.code == "GAVE_UP",
                        "a known key with another body was taken");
    pause();
  });
}

void OperatorClient::cancel_run() {
  if (run_ids_.empty()) return pause();
  caller_.ask("run.cancel", {{"run_id", environment_.random.any_of(run_ids_)}}, patience_ms,
              [this](const Reply& reply) {
                constexpr std::array expected{"", "GAVE_UP", "RUN_TERMINAL"};
                environment_.expect(
                    std::find(expected.begin(), expected.end(), reply.code) != expected.end(),
                    "a cancellation was refused: " + reply.code);
                pause();
              });
}

// S1: what was acknowledged is there to be looked at.
void OperatorClient::look_at_run() {
  if (run_ids_.empty()) return pause();
  const std::string run_id = environment_.random.any_of(run_ids_);
  caller_.ask("run.get", {{"run_id", run_id}}, patience_ms, [this, run_id](const Reply& reply) {
    if (reply.code.empty()) {
      environment_.expect(reply.result.at("run").at("run_id").as_string() == run_id,
                          "another run than the one that was asked for");
    } else {
      environment_.expect(reply.code == "GAVE_UP", "a run can't be looked at: " + reply.code);
    }
    pause();
  });
}

void OperatorClient::list_runs() {
  const std::size_t known = run_ids_.size();
  caller_.ask("run.list", {{"limit", 500}}, patience_ms, [this, known](const Reply& reply) {
    if (reply.code.empty()) {
      environment_.expect(reply.result.at("runs").as_array().size() >= known,
                          "a run that was acknowledged isn't listed");
    } else {
      environment_.expect(reply.code == "GAVE_UP", "runs can't be listed: " + reply.code);
    }
    pause();
  });
}

void OperatorClient::repeat_last() {
  caller_.repeat_last();
  pause();
}

}  // namespace signalbox::simulation
