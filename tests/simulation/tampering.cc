#include "tests/simulation/tampering.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/remote_work.h"

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& params, const char* name) {
  const json::value* value = params.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

const Run* run_of(const World& world, const json::object& params) {
  const auto id = parse_uuid(text_of(params, "run_id"));
  return id ? world.find_run(*id) : nullptr;
}

// The token of who holds the station, or does the step, that the words are about; 0: nobody.
Token present_token(const World& world, const json::object& params) {
  const Run* run = run_of(world, params);
  if (run == nullptr) return 0;
  const std::string step = text_of(params, "step");
  if (step.empty()) return run->attempt ? run->attempt->token : 0;
  const StepState* state = run->plan ? run->plan->find(step) : nullptr;
  return state == nullptr ? 0 : state->token;
}

// Whoever speaks for a station, or a step, is taken for its holder.
void show_present_token(const World& world, json::object& params) {
  const Token token = params.contains("token") ? present_token(world, params) : 0;
  if (token != 0) params["token"] = token;
}

Run* run_of(const World& world, const Record& record) {
  World& own = const_cast<World&>(world);  // which no code but the service's own may do
  return own.find_run(record.stream.run_id);
}

void make_ready(const World& world, Run& run) {
  World& own = const_cast<World&>(world);
  run.station().ready_at = world.position;
  own.ready.insert(ready_queue_of(run.definition()), run.definition().name, world.position, run.id);
}

// A run is paused, and can be claimed all the same.
void let_go_on(const World& world, Run& run) {
  if (run.status != RunStatus::paused) return;
  run.status = RunStatus::running;
  const StationState& station = run.station();
  if (station.status == StationStatus::pending && station.ready_at == 0) make_ready(world, run);
}

void begin_anew(const World& world, Run& run) {
  if (run.station().ready_at == 0) return;
  World& own = const_cast<World&>(world);
  own.ready.erase(ready_queue_of(run.definition()), run.definition().name, run.station().ready_at,
                  run.id);
  if (run.plan) own.planned.erase(run.id);
  run.plan.reset();
  run.current = 0;
  for (StationState& station : run.stations) station = {};
  make_ready(world, run);
}

}  // namespace

std::string tampered_line(Mutant mutant, const World& world, const std::string& line) {
  const bool concerned = mutant == Mutant::missing_token_check ||
                         mutant == Mutant::step_token_unchecked ||
                         mutant == Mutant::lock_loss_untold || mutant == Mutant::usage_unheard ||
                         mutant == Mutant::decision_for_whoever_asks;
  if (!concerned) return line;
  json::object request = json::parse(line).as_object();
  json::object& params = request.at("params").as_object();
  const std::string method = text_of(request, "method");
  if (mutant == Mutant::lock_loss_untold) params.erase("lock_token");
  if (mutant == Mutant::usage_unheard) params.erase("usage");
  if (mutant == Mutant::decision_for_whoever_asks && method == "run.resume") {
    params.erase("station");
  }
  if (mutant == Mutant::missing_token_check && method.starts_with("station.")) {
    show_present_token(world, params);
  }
  if (mutant == Mutant::step_token_unchecked && method.starts_with("step.")) {
    show_present_token(world, params);
  }
  return json::serialize(request);
}

void tamper_with(Mutant mutant, const World& world, std::span<const Record> records) {
  if (!parts_from_log(mutant)) return;
  for (const Record& record : records) {
    Run* run = record.stream.kind == StreamKind::run ? run_of(world, record) : nullptr;
    if (run == nullptr) continue;
    if (mutant == Mutant::pause_starts_attempts) let_go_on(world, *run);
    if (mutant == Mutant::budget_unchecked) run->budget = {};
    if (mutant == Mutant::retry_begins_anew && event_as<RunRetried>(record.event) != nullptr) {
      begin_anew(world, *run);
    }
    if (mutant == Mutant::dependencies_ignored && run->plan) {
      for (StepState& step : run->plan->steps) step.definition.dependencies.clear();
    }
  }
}

void tamper_with_start(Mutant mutant, World& world) {
  if (mutant != Mutant::completed_steps_forgotten) return;
  for (const RunId& id : world.planned) {
    for (StepState& step : world.find_run(id)->plan->steps) {
      if (step.status == StepStatus::completed) step.status = StepStatus::pending;
    }
  }
}

std::optional<Command> unasked(Mutant mutant, const Record& record) {
  if (mutant == Mutant::quota_reset_ignored) {
    const auto* deferred = event_as<StationDeferred>(record.event);
    if (deferred != nullptr && deferred->reason == WaitReason::quota) {
      return WakeStation{record.stream.run_id};
    }
  }
  if (mutant == Mutant::approval_counts_twice &&
      event_as<StationApproved>(record.event) != nullptr) {
    return ResumeRun{record.stream.run_id, "approved", Decision::approve, {}};
  }
  return std::nullopt;
}

bool parts_from_log(Mutant mutant) {
  switch (mutant) {
    case Mutant::pause_starts_attempts:
    case Mutant::budget_unchecked:
    case Mutant::retry_begins_anew:
    case Mutant::completed_steps_forgotten:
    case Mutant::dependencies_ignored:
      return true;
    default:
      return false;
  }
}

}  // namespace signalbox::simulation
