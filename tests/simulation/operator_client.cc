#include "tests/simulation/operator_client.h"

#include "tests/simulation/runner_client.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "server/rpc/pipeline_json.h"
#include "server/text/described_json.h"
#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr int runs_max = 20;
constexpr std::int64_t operator_patience_ms = 2000;

}  // namespace

void OperatorClient::begin() { later(between(0, one_in(4) ? 20'000 : 500), &OperatorClient::act); }

void OperatorClient::wait() { later(between(20, calm() ? 200 : 2500), &OperatorClient::act); }

void OperatorClient::act() {
  if (calm()) {
    if (!paused_.empty()) resume(*paused_.begin());
    return;
  }
  switch (environment_.random.below(16)) {
    case 0:
      return start_again();
    case 1:
      return start_another_under_a_known_key();
    case 2:
      return list_runs();
    case 3:
      return look_around();
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      return act_on_run();
    default:
      return start_run();
  }
}

void OperatorClient::act_on_run() {
  if (context_.run_ids.empty()) return wait();
  // Prefers the latest runs, which are usually open.
  const std::size_t count = context_.run_ids.size();
  run_id_ =
      context_
          .run_ids[count - 1 -
                   environment_.random.below(std::min<std::size_t>(count, one_in(4) ? count : 3))];
  const json::object params{{"run_id", run_id_}};
  switch (environment_.random.below(8)) {
    case 0:
      return ask("run.cancel", params, operator_patience_ms, &OperatorClient::on_changed);
    case 1:
    case 2:
      paused_.insert(run_id_);
      return ask("run.pause", params, operator_patience_ms, &OperatorClient::on_changed);
    case 3:
      return resume(run_id_);
    case 4:
    case 5:
      return ask("watchdog.check", params, operator_patience_ms, &OperatorClient::on_changed);
    default:
      return ask("run.get", params, operator_patience_ms, &OperatorClient::on_looked);
  }
}

void OperatorClient::on_changed(const Reply& reply) {
  expect_code(reply, {"RUN_TERMINAL"});
  wait();
}

void OperatorClient::resume(const std::string& run_id) {
  run_id_ = run_id;
  ask("run.resume", {{"run_id", run_id}}, operator_patience_ms, &OperatorClient::on_resumed);
}

// Whether the run goes on may be the decision of another client.
void OperatorClient::on_resumed(const Reply& reply) {
  expect_code(reply, {"RUN_TERMINAL", "DECISION_REQUIRED", "BUDGET_EXHAUSTED"});
  const bool is_gone = environment_.dropped.runs.contains(run_id_);
  if (reply.code != "GAVE_UP" || is_gone) paused_.erase(run_id_);
  wait();
}

void OperatorClient::start_run() {
  if (++runs_ > runs_max) return wait();
  std::string goal = "goal " + std::to_string(runs_);
  // Long enough for the judge of redactions, and like no other.
  if (environment_.redacts) goal += " of " + name() + ", with a key in it";
  PipelineDefinition pipeline = any_pipeline(environment_.random);
  if (RunnerClient::is_in(environment_.seed)) RunnerClient::ask_for_runner(pipeline);
  json::object params{{"goal", goal}, {"pipeline", pipeline_to_json(pipeline)}};
  if (one_in(3)) params["budget"] = to_json(any_budget(environment_.random));
  if (one_in(6)) params["max_retries"] = between(0, 3);
  if (one_in(6)) params["repository"] = "/repositories/owner-a-project-1";
  key_.clear();
  if (environment_.random.per_cent(60)) {
    key_ = name() + "-key-" + std::to_string(runs_);
    params["idempotency_key"] = key_;
    keyed_[key_].params = params;
  }
  ask("run.start", params, operator_patience_ms, &OperatorClient::on_started);
}

void OperatorClient::on_started(const Reply& reply) {
  expect_code(reply, {});
  if (reply.code.empty()) {
    context_.run_ids.emplace_back(reply.result.at("run_id").as_string());
    if (!key_.empty()) keyed_[key_].run_id = context_.run_ids.back();
  }
  wait();
}

// S2: sends the same key and body under another command id.
void OperatorClient::start_again() {
  if (keyed_.empty()) return wait();
  const auto place = std::next(
      keyed_.begin(), static_cast<std::ptrdiff_t>(environment_.random.below(keyed_.size())));
  key_ = place->first;
  ask("run.start", place->second.params, operator_patience_ms, &OperatorClient::on_started_again);
}

void OperatorClient::on_started_again(const Reply& reply) {
  expect_code(reply, {});
  if (reply.code.empty()) {
    const std::string run_id(reply.result.at("run_id").as_string());
    std::string& known = keyed_[key_].run_id;
    if (known.empty()) known = run_id;
    environment_.expect(known == run_id, "one key led to two runs");
  }
  wait();
}

void OperatorClient::start_another_under_a_known_key() {
  const auto known = std::find_if(keyed_.begin(), keyed_.end(),
                                  [](const auto& entry) { return !entry.second.run_id.empty(); });
  if (known == keyed_.end()) return wait();
  json::object params = known->second.params;
  params["goal"] = "something else";
  ask("run.start", params, operator_patience_ms, &OperatorClient::on_conflict);
}

void OperatorClient::on_conflict(const Reply& reply) {
  expect_code(reply, {"IDEMPOTENCY_CONFLICT"});
  environment_.expect(!reply.code.empty(), "a known key with another body was taken");
  wait();
}

// S1: an acknowledged run can be read.
void OperatorClient::on_looked(const Reply& reply) {
  expect_code(reply, {});
  environment_.expect(
      !reply.code.empty() || reply.result.at("run").at("run_id").as_string() == run_id_,
      "another run than the one that was asked for");
  wait();
}

void OperatorClient::list_runs() {
  known_runs_ = context_.run_ids.size();
  ask("run.list", {{"limit", 500}}, operator_patience_ms, &OperatorClient::on_listed);
}

void OperatorClient::on_listed(const Reply& reply) {
  expect_code(reply, {});
  environment_.expect(!reply.code.empty() || reply.result.at("runs").as_array().size() +
                                                     environment_.dropped.runs.size() >=
                                                 known_runs_,
                      "a run that was acknowledged isn't listed");
  wait();
}

void OperatorClient::look_around() {
  constexpr std::array methods{"lock.list", "tick.list", "server.status"};
  ask(environment_.random.any_of(methods), {}, operator_patience_ms,
      &OperatorClient::on_looked_around);
}

void OperatorClient::on_looked_around(const Reply& reply) {
  expect_code(reply, {});
  wait();
}

}  // namespace signalbox::simulation
