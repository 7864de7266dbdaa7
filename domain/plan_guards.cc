#include "domain/plan_guards.h"

#include "domain/refusals.h"

namespace signalbox {

Decided<const Run*> planned_run(const World& world, const RunId& id) {
  const auto found = open_run(world, id);
  if (!found || (*found)->plan) return found;
  const Run& run = **found;
  return reject(ErrorCode::PLAN_NOT_FOUND,
                "station " + run.definition().name + " of the run has no deep work in progress",
                {{"run_id", to_string(id)}, {"current_station", run.definition().name}},
                {"signalbox run get " + to_string(id)});
}

Decided<const Run*> planned_station(const World& world, const RunId& id, const std::string& station,
                                    Token token) {
  const auto found = planned_run(world, id);
  if (!found) return found;
  const Run& run = **found;
  if (!station.empty() && run.definition().name != station) {
    return reject(ErrorCode::PLAN_NOT_FOUND, "station " + station + " isn't the current one",
                  {{"run_id", to_string(id)},
                   {"station", station},
                   {"current_station", run.definition().name}},
                  {"signalbox run get " + to_string(id)});
  }
  if (!run.attempt || run.attempt->token != token) {
    return reject(
        ErrorCode::STALE_TOKEN, "this token isn't that of the station's attempt in progress",
        {{"run_id", to_string(id)},
         {"station", run.definition().name},
         {"token", static_cast<std::int64_t>(token)},
         {"current_token", static_cast<std::int64_t>(run.attempt ? run.attempt->token : 0)}},
        {"signalbox plan get " + to_string(id)});
  }
  return found;
}

Decided<HeldStep> held_step(const World& world, const RunId& id, const std::string& step,
                            Token token) {
  const auto found = planned_run(world, id);
  if (!found) return tl::unexpected(found.error());
  const Run& run = **found;
  const StepState* const held = run.plan->find(step);
  const std::string look = "signalbox plan get " + to_string(id);
  if (held == nullptr) {
    std::vector<std::string> ids;
    for (const StepState& each : run.plan->steps) ids.push_back(each.definition.id);
    return reject(ErrorCode::STEP_NOT_FOUND, "the plan has no step " + step,
                  {{"run_id", to_string(id)}, {"step", step}, {"step_ids", ids}}, {look});
  }
  if (held->status != StepStatus::running || held->token != token) {
    return reject(ErrorCode::STALE_TOKEN,
                  "no attempt of step " + step + " is in progress with this token",
                  {{"run_id", to_string(id)},
                   {"step", step},
                   {"token", static_cast<std::int64_t>(token)},
                   {"current_token", static_cast<std::int64_t>(held->token)},
                   {"step_status", std::string(name_of(held->status))}},
                  {look});
  }
  return HeldStep{&run, held};
}

}  // namespace signalbox
