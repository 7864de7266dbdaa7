// `plan.*`: the exploration and the plan of a deep_work station. Its own worker takes the same way
// as one from outside.
#include "domain/plan_guards.h"
#include "server/rpc/command_call.h"
#include "server/rpc/plan_results.h"

namespace signalbox {
namespace {

struct GetPlan {
  RunId run_id{};
};
BOOST_DESCRIBE_STRUCT(GetPlan, (), (run_id))

enum class Phase : std::uint8_t { explore = 1, plan = 2, steps = 3 };
BOOST_DESCRIBE_ENUM(Phase, explore, plan, steps)

struct ListPlans {
  std::optional<Phase> waiting_for;
};
BOOST_DESCRIBE_STRUCT(ListPlans, (), (waiting_for))

void get(Api& api, Call& call) {
  const auto params = from_json<GetPlan>(call.params);
  if (!params) return call.responder.reject(params.error());
  const auto run = planned_run(api.engine.world(), params->run_id);
  if (!run) return call.responder.reject(with_ended_run(api, run.error()));
  call.responder.result(plan_view(**run));
}

void list(Api& api, Call& call) {
  const auto params = from_json<ListPlans>(call.params);
  if (!params) return call.responder.reject(params.error());
  const std::string phase =
      params->waiting_for ? boost::describe::enum_to_string(*params->waiting_for, "") : "";
  call.responder.result(plan_list_view(api.engine.world(), phase));
}

}  // namespace

std::vector<Method> plan_methods() {
  return {
      {"plan.set_exploration", true, Role::worker, field_names<SetExploration>(),
       handle_command<SetExploration, exploration_result>},
      {"plan.set", true, Role::worker, field_names<SetPlan>(),
       handle_command<SetPlan, plan_result>},
      {"plan.reset", true, Role::operator_, field_names<ResetPlan>(),
       handle_command<ResetPlan, reset_result>},
      {"plan.get", false, Role::viewer, field_names<GetPlan>(), get},
      {"plan.list", false, Role::viewer, field_names<ListPlans>(), list},
  };
}

}  // namespace signalbox
