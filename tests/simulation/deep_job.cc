#include "tests/simulation/deep_job.h"

#include <array>
#include <set>

#include "tests/simulation/any_settings.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

constexpr std::int64_t job_patience_ms = 700;

// Codes that a job may get once another attempt has replaced it, the run has ended, or a plan was
// reset.
const std::set<std::string> too_late{"STALE_TOKEN", "STEP_NOT_FOUND", "PLAN_NOT_FOUND",
                                     "PLAN_ORDER", "RUN_TERMINAL"};

}  // namespace

DeepJob::DeepJob(Context& context, SimulatedMachine& machine, Job job)
    : Client(context, "deep-" + job.id),
      machine_(machine),
      job_(std::move(job)),
      work_(job_.definition.deep_work.value_or(DeepWorkDefinition{})),
      began_ns_(environment_.schedule.monotonic_ns()) {}

json::object DeepJob::word() const {
  return {{"run_id", to_string(job_.run_id)}, {"token", job_.token}};
}

void DeepJob::look() {
  if (gone()) return;
  if (environment_.faults.strikes(Fault::job_failed)) {
    return leave(ErrorClass::transient, "EXIT_NONZERO");
  }
  ask("plan.get", {{"run_id", to_string(job_.run_id)}}, job_patience_ms, &DeepJob::on_looked);
}

void DeepJob::on_looked(const Reply& reply) {
  if (gone()) return;
  expect_code(reply, too_late);
  if (reply.code == "GAVE_UP") return look_soon();
  if (!reply.code.empty()) return leave(ErrorClass::terminal, reply.code);
  const json::value& token = reply.result.at("token");
  if (token.is_null() || token.to_number<Token>() != job_.token) {
    return leave(ErrorClass::lost, "STALE_TOKEN");
  }
  go_on(reply.result);
}

void DeepJob::go_on(const json::object& plan) {
  const json::string& status = plan.at("plan_status").as_string();
  const bool settled = plan.at("settled").as_bool();
  if (environment_.faults.strikes(Fault::job_boasts)) return leave_as_succeeded();
  if (status == "exploring") return later(between(1, 300), &DeepJob::explore);
  if (status == "planning") return later(between(1, 300), &DeepJob::plan);
  if (settled) return judge(plan);
  next();
}

void DeepJob::explore() {
  if (gone()) return;
  json::object params = word();
  params["station"] = job_.definition.name;
  const std::int64_t worked_ms = (environment_.schedule.monotonic_ns() - began_ns_) / ns_per_ms;
  if (work_.explore.worker) {
    if (worked_ms < work_.explore_timeout_ms) return look_soon();
    params["timed_out"] = true;
  } else if (!work_.explore.command.empty()) {
    if (!calm() && one_in(6)) {
      params["timed_out"] = true;
    } else {
      params["summary"] = "found by " + job_.id;
      params["files"] = json::array{"one.cc", "two.cc"};
    }
  }
  ask("plan.set_exploration", params, job_patience_ms, &DeepJob::on_told);
}

void DeepJob::plan() {
  if (gone()) return;
  if (work_.plan.worker) return look_soon();
  ProposedPlan proposed = propose_plan(environment_);
  problem_ = proposed.problem;
  json::object params = word();
  params["station"] = job_.definition.name;
  params["steps"] = std::move(proposed.steps);
  ask("plan.set", params, job_patience_ms, &DeepJob::on_planned);
}

void DeepJob::on_planned(const Reply& reply) {
  if (reply.code == "PLAN_INVALID") {
    environment_.expect(reply.details.at("problem").as_string() == problem_,
                        "a plan whose problem is '" + problem_ + "' is refused for another");
    if (!gone()) leave(ErrorClass::terminal, reply.code);
    return;
  }
  environment_.expect(problem_.empty() || !reply.code.empty(), "a bad plan was taken");
  on_told(reply);
}

void DeepJob::on_told(const Reply& reply) {
  expect_code(reply, too_late);
  if (!gone()) look_soon();
}

void DeepJob::next() {
  json::object params = word();
  params["worker"] = "deep_work";
  const std::int64_t wait_ms = between(0, 2) * 500;
  params["wait_ms"] = wait_ms;
  ask("step.next", params, wait_ms + job_patience_ms, &DeepJob::on_next);
}

void DeepJob::on_next(const Reply& reply) {
  if (gone()) return;
  expect_code(reply, too_late);
  if (!reply.code.empty() || reply.result.at("step").is_null()) return look_soon();
  const json::object& step = reply.result.at("step").as_object();
  step_ = step.at("step").as_string();
  step_token_ = step.at("token").to_number<Token>();
  const std::int64_t pause_ms =
      environment_.faults.strikes(Fault::zombie) ? between(1000, 9000) : between(1, 500);
  later(pause_ms,
        environment_.faults.strikes(Fault::step_failed) ? &DeepJob::fail : &DeepJob::complete);
}

void DeepJob::complete() {
  if (gone()) return;
  ask("step.complete",
      {{"run_id", to_string(job_.run_id)}, {"step", step_}, {"token", step_token_}},
      job_patience_ms, &DeepJob::on_told);
}

void DeepJob::fail() {
  if (gone()) return;
  constexpr std::array classes{"transient", "terminal", "terminal", "config"};
  ask("step.fail",
      {{"run_id", to_string(job_.run_id)},
       {"step", step_},
       {"token", step_token_},
       {"error_class", environment_.random.any_of(classes)},
       {"error_code", "EXIT_NONZERO"}},
      job_patience_ms, &DeepJob::on_told);
}

void DeepJob::judge(const json::object& plan) {
  if (plan.at("todo_status").as_object().at("all_complete").as_bool()) return leave_as_succeeded();
  leave(ErrorClass::terminal, "RETRY_EXHAUSTED");
}

void DeepJob::leave(ErrorClass error_class, const std::string& code) {
  JobResult result;
  result.failure = {Outcome::failed, error_class, code, "deep work"};
  result.usage = any_usage(environment_.random);
  machine_.leave(job_.id, std::move(result));
}

void DeepJob::leave_as_succeeded() {
  JobResult result;
  result.outcome = Outcome::succeeded;
  result.result.summary = "made by " + job_.id;
  result.usage = any_usage(environment_.random);
  machine_.leave(job_.id, std::move(result));
}

DeepJobs::DeepJobs(Context& context, SimulatedMachine& machine) {
  machine.when_deep_work_begins([this, &context, &machine](const Job& job) {
    jobs_.push_back(std::make_unique<DeepJob>(context, machine, job));
    jobs_.back()->begin();
  });
}

}  // namespace signalbox::simulation
