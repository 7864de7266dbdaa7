#include "tests/simulation/decision_client.h"

#include <array>
#include <vector>

#include "server/text/described_json.h"
#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t decision_patience_ms = 2000;

std::string text_of(const json::object& row, const char* name) {
  const json::value* value = row.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

bool needs_somebody(const json::object& row) {
  const std::string waiting = text_of(row, "waiting_for");
  return waiting == "approval" || waiting == "budget" || text_of(row, "status") == "paused";
}

}  // namespace

void DecisionClient::wait() { later(between(50, calm() ? 400 : 1500), &DecisionClient::look); }

void DecisionClient::look() {
  if (!calm() && one_in(8))
    return ask("plan.list", {}, decision_patience_ms, &DecisionClient::on_plans);
  ask("run.list", {{"limit", 500}}, decision_patience_ms, &DecisionClient::on_listed);
}

void DecisionClient::on_listed(const Reply& reply) {
  expect_code(reply, {});
  if (!reply.code.empty()) return wait();
  std::vector<const json::object*> rows;
  for (const json::value& each : reply.result.at("runs").as_array()) {
    const json::object& row = each.as_object();
    if (needs_somebody(row) || (!calm() && (text_of(row, "status") == "failed" || one_in(4)))) {
      rows.push_back(&row);
    }
  }
  if (rows.empty()) return wait();
  act_on(*environment_.random.any_of(rows));
}

void DecisionClient::act_on(const json::object& row) {
  run_id_ = text_of(row, "run_id");
  const std::string waiting = text_of(row, "waiting_for");
  const bool failed = text_of(row, "status") == "failed";
  station_ = text_of(row, "station");
  if (waiting == "approval") return decide();
  if (waiting == "budget") return raise_budget();
  if (calm()) return raise_budget();  // a paused run goes on with that
  if (failed && one_in(2)) return retry(failed);
  switch (environment_.random.below(8)) {
    case 0:
      return retry(failed);
    case 1:
      return decide();
    case 2:
      return raise_budget();
    default:
      return meddle();
  }
}

void DecisionClient::decide() {
  json::object params{{"run_id", run_id_}, {"reason", "so said " + name()}};
  decision_ = calm() || !one_in(4) ? "approve" : "reject";
  if (!calm() && one_in(8)) decision_.clear();
  if (!decision_.empty()) params["decision"] = decision_;
  // A decision that doesn't name its station applies to whichever station asks by then.
  if (!decision_.empty() && !station_.empty() && !one_in(4)) params["station"] = station_;
  if (!calm() && one_in(8)) params["budget"] = to_json(any_budget(environment_.random));
  ask("run.resume", params, decision_patience_ms, &DecisionClient::on_decided);
}

void DecisionClient::on_decided(const Reply& reply) {
  expect_code(reply, {"RUN_TERMINAL", "BUDGET_EXHAUSTED",
                      decision_.empty() ? "DECISION_REQUIRED" : "NOT_WAITING_FOR_APPROVAL"});
  wait();
}

void DecisionClient::raise_budget() {
  // No bound, once everything has to come to an end.
  Budget budget;
  if (!calm()) {
    const std::int64_t figure = between(1, 60);
    budget = {figure * 20'000, figure * 100, figure};
  }
  ask("run.resume", {{"run_id", run_id_}, {"budget", to_json(budget)}, {"reason", "go on"}},
      decision_patience_ms, &DecisionClient::on_raised);
}

void DecisionClient::on_raised(const Reply& reply) {
  expect_code(reply, {"RUN_TERMINAL", "BUDGET_EXHAUSTED", "DECISION_REQUIRED"});
  wait();
}

void DecisionClient::retry(bool failed) {
  json::object params{{"run_id", run_id_}};
  if (failed && one_in(3)) params["max_retries"] = between(0, 3);
  if (one_in(4)) params["strategy"] = one_in(2) ? "original" : "alternative";
  ask("run.retry", params, decision_patience_ms, &DecisionClient::on_retried);
}

void DecisionClient::on_retried(const Reply& reply) {
  // A station may lack the strategy, and a card's run is retried through its card.
  expect_code(reply, {"RUN_NOT_FAILED", "INVALID_PARAMS", "CARD_BUSY"});
  wait();
}

// Resets a plan at random.
void DecisionClient::on_plans(const Reply& reply) {
  expect_code(reply, {});
  if (!reply.code.empty() || reply.result.at("plans").as_array().empty()) return wait();
  const json::array& plans = reply.result.at("plans").as_array();
  run_id_ = text_of(environment_.random.any_of(plans).as_object(), "run_id");
  ask("plan.reset", {{"run_id", run_id_}, {"reason", "think again"}}, decision_patience_ms,
      &DecisionClient::on_meddled);
}

void DecisionClient::meddle() {
  constexpr std::array methods{"run.pause", "run.resume", "run.why", "plan.get"};
  ask(environment_.random.any_of(methods), {{"run_id", run_id_}}, decision_patience_ms,
      &DecisionClient::on_meddled);
}

void DecisionClient::on_meddled(const Reply& reply) {
  expect_code(reply, {"RUN_TERMINAL", "BUDGET_EXHAUSTED", "DECISION_REQUIRED", "PLAN_NOT_FOUND",
                      "PLAN_ORDER"});
  wait();
}

}  // namespace signalbox::simulation
