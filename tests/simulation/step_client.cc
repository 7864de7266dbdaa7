#include "tests/simulation/step_client.h"

#include <algorithm>
#include <array>
#include <set>

#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t step_patience_ms = 700;

// Codes that a worker may get for an attempt that may be over.
const std::set<std::string> too_late{"STALE_TOKEN", "STEP_NOT_FOUND", "PLAN_NOT_FOUND",
                                     "PLAN_ORDER", "RUN_TERMINAL"};

}  // namespace

json::object StepClient::held() const {
  return {{"run_id", run_id_}, {"step", step_}, {"token", token_}};
}

void StepClient::act() {
  switch (environment_.random.below(5)) {
    case 0:
      return ask("plan.list", {{"waiting_for", "explore"}}, step_patience_ms,
                 &StepClient::on_listed);
    case 1:
      return ask("plan.list", {{"waiting_for", "plan"}}, step_patience_ms, &StepClient::on_listed);
    default:
      return next();
  }
}

void StepClient::on_listed(const Reply& reply) {
  expect_code(reply, {});
  if (!reply.code.empty() || reply.result.at("plans").as_array().empty()) return wait();
  const json::array& plans = reply.result.at("plans").as_array();
  const json::object& chosen = environment_.random.any_of(plans).as_object();
  run_id_ = chosen.at("run_id").as_string();
  station_ = chosen.at("station").as_string();
  token_ = chosen.at("token").to_number<Token>();
  const bool exploring = chosen.at("plan_status").as_string() == "exploring";
  later(between(5, 600), exploring ? &StepClient::explore : &StepClient::plan);
}

void StepClient::explore() {
  json::object params{{"run_id", run_id_}, {"station", station_}, {"token", token_}};
  params["summary"] = "looked around";
  params["files"] = json::array{"a.cc", "b.cc", "c.cc"};
  params["findings"] = json::array{"it is small"};
  ask("plan.set_exploration", params, step_patience_ms, &StepClient::on_told);
}

void StepClient::plan() {
  ProposedPlan proposed = propose_plan(environment_);
  problem_ = proposed.problem;
  ask("plan.set",
      {{"run_id", run_id_},
       {"station", station_},
       {"token", token_},
       {"steps", std::move(proposed.steps)}},
      step_patience_ms, &StepClient::on_planned);
}

void StepClient::on_planned(const Reply& reply) {
  if (reply.code == "PLAN_INVALID") {
    environment_.expect(reply.details.at("problem").as_string() == problem_,
                        "a plan whose problem is '" + problem_ + "' is refused for another");
  } else {
    expect_code(reply, too_late);
    environment_.expect(problem_.empty() || !reply.code.empty(), "a bad plan was taken");
  }
  wait();
}

void StepClient::on_told(const Reply& reply) {
  expect_code(reply, too_late);
  wait();
}

void StepClient::next() {
  const std::int64_t wait_ms = between(0, 3) * 500;
  json::object params{{"worker", name()}, {"wait_ms", wait_ms}};
  if (one_in(3)) params["lease_ms"] = between(100, 3000);
  if (!calm() && one_in(6) && !context_.run_ids.empty()) {
    params["run_id"] = environment_.random.any_of(context_.run_ids);
  }
  ask("step.next", params, wait_ms + step_patience_ms, &StepClient::on_next);
}

void StepClient::on_next(const Reply& reply) {
  expect_code(reply, {"PLAN_NOT_FOUND", "RUN_TERMINAL", "STATION_NOT_CLAIMABLE"});
  if (!reply.code.empty() || reply.result.at("step").is_null()) return wait();
  const json::object& step = reply.result.at("step").as_object();
  run_id_ = step.at("run_id").as_string();
  step_ = step.at("step").as_string();
  token_ = step.at("token").to_number<Token>();
  lease_ms_ = step.at("lease_ms").to_number<std::int64_t>();
  beats_left_ = between(0, 4);
  work();
}

void StepClient::work() {
  if (environment_.faults.strikes(Fault::zombie)) {
    environment_.note(name() + " stops for a while");
    return later(lease_ms_ * between(1, 4) + 50,
                 one_in(2) ? &StepClient::beat : &StepClient::complete);
  }
  const std::int64_t pause_ms = between(1, std::max<std::int64_t>(lease_ms_ / 2, 1));
  if (beats_left_-- > 0) return later(pause_ms, &StepClient::beat);
  later(pause_ms, environment_.faults.strikes(Fault::step_failed) ? &StepClient::fail
                                                                  : &StepClient::complete);
}

void StepClient::beat() {
  json::object params = held();
  if (one_in(4)) params["lease_ms"] = between(100, 3000);
  ask("step.heartbeat", params, step_patience_ms, &StepClient::on_beat);
}

void StepClient::on_beat(const Reply& reply) {
  expect_code(reply, too_late);
  if (reply.code == "GAVE_UP") return work();
  if (!reply.code.empty()) return wait();
  lease_ms_ = reply.result.at("lease_ms").to_number<std::int64_t>();
  work();
}

void StepClient::complete() {
  json::object params = held();
  params["summary"] = "done by " + name();
  ask("step.complete", params, step_patience_ms, &StepClient::on_told);
}

void StepClient::fail() {
  constexpr std::array classes{"transient", "terminal", "terminal", "lost", "quota", "config"};
  json::object params = held();
  params["error_class"] = environment_.random.any_of(classes);
  params["error_code"] = "AS_CHANCE_HAD_IT";
  ask("step.fail", params, step_patience_ms, &StepClient::on_told);
}

}  // namespace signalbox::simulation
