// `plan.*`: the exploration and the plan of a deep_work station. The service's own worker uses the
// same commands as an outside one.
#include "domain/refusals.h"
#include "projections/run_history.h"
#include "server/engine/dropped_history.h"
#include "server/engine/engine.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/page_limit.h"
#include "server/rpc/plan_results.h"
#include "server/rpc/read_models.h"

namespace signalbox {
namespace {

namespace json = boost::json;

struct GetPlan {
  RunId run_id{};
  std::optional<std::string> station;
};
BOOST_DESCRIBE_STRUCT(GetPlan, (), (run_id, station))

enum class Phase : std::uint8_t { explore = 1, plan = 2, steps = 3 };
BOOST_DESCRIBE_ENUM(Phase, explore, plan, steps)

struct ListPlans {
  std::optional<Phase> waiting_for;
  std::optional<std::uint32_t> limit;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ListPlans, (), (waiting_for, limit, cursor))

// Returns the plan of a station that the run has left. RUN_NOT_FOUND, PLAN_NOT_FOUND or
// unreadable(). Called on the projector's thread.
Decided<json::object> ended_plan_view(const Api& api, const RunIndex& index, const RunId& run_id,
                                      const std::string& station) {
  const std::string text = to_string(run_id);
  const auto history = read_history(api.log, index, run_id);
  if (!history) return unreadable(history.error());
  if (!*history) {
    return tl::unexpected(run_not_found(api.log, run_id));
  }
  const auto run = fold_ended_plan((*history)->records, (*history)->pipeline, station);
  if (run != nullptr) return plan_view(*run);
  std::vector<std::string> deep;
  for (const StationDefinition& each : (*history)->pipeline.stations) {
    if (each.executor == ExecutorKind::deep_work) deep.push_back(each.name);
  }
  return reject(ErrorCode::PLAN_NOT_FOUND,
                station.empty() ? "the run has begun no deep work"
                                : "the run has begun no deep work of station " + station,
                {{"run_id", text}, {"station", station}, {"deep_work_stations", deep}},
                {"signalbox run get " + text});
}

void get_plan(Api& api, Call& call) {
  const auto params = from_json<GetPlan>(call.params);
  if (!params) return call.responder.reject(params.error());
  const std::string station = params->station.value_or("");
  const auto run = planned_run(api.engine.world(), params->run_id);
  if (run && (station.empty() || (*run)->definition().name == station)) {
    return call.responder.result(plan_view(**run));
  }
  answer_from_read_models(api, call.responder,
                          [&api, id = params->run_id, station](const RunIndex& index) {
                            return ended_plan_view(api, index, id, station);
                          });
}

void list_plans(Api& api, Call& call) {
  const auto params = from_json<ListPlans>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto limit = page_limit(params->limit, 100, plan_list_rows_max);
  if (!limit) return call.responder.reject(limit.error());
  PlanFilter filter;
  if (params->waiting_for) filter.phase = boost::describe::enum_to_string(*params->waiting_for, "");
  filter.limit = *limit;
  if (params->cursor) filter.after = parse_uuid(*params->cursor);
  if (params->cursor && !filter.after) {
    return call.responder.reject({ErrorCode::INVALID_PARAMS,
                                  "cursor must be the next_cursor of the page before",
                                  {{"field", std::string("cursor")}},
                                  {"signalbox plan list"}});
  }
  call.responder.result(plan_list_view(api.engine.world(), filter));
}

}  // namespace

std::vector<Method> plan_methods() {
  return {
      {"plan.set_exploration", true, Role::worker, params_of<SetExploration>(),
       handle_command<SetExploration, exploration_result>},
      {"plan.set", true, Role::worker, params_of<SetPlan>(), handle_command<SetPlan, plan_result>},
      {"plan.reset", true, Role::operator_, params_of<ResetPlan>(),
       handle_command<ResetPlan, reset_result>},
      {"plan.get", false, Role::viewer, params_of<GetPlan>(), get_plan},
      {"plan.list", false, Role::viewer, params_of<ListPlans>(), list_plans},
  };
}

}  // namespace signalbox
