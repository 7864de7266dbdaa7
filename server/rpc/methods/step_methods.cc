// `step.*`: the steps of plans, for the service's own workers and outside ones.
#include "domain/limits.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
#include "server/rpc/methods/families.h"
#include "server/rpc/plan_results.h"
#include "server/rpc/step_queue.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void next(Api& api, Call& call, StepQueue& steps) {
  auto command = from_json<NextStep>(call.params);
  if (!command) return call.responder.reject(command.error());
  if (answered_before(api, call, next_step_result)) return;
  const std::int64_t wait_ms = command->wait_ms.value_or(0);
  if (auto ok = require_between("wait_ms", wait_ms, 0, limits::claim_wait_ms_max); !ok) {
    return call.responder.reject(ok.error());
  }
  Decided<json::object> outcome;
  {
    auto transaction = api.engine.begin(call.origin);
    const auto applied = transaction.apply(*command);
    if (!applied) {
      outcome = tl::unexpected(with_ended_run(api, applied.error()));
    } else if (*applied > 0) {
      outcome = next_step_result(api, transaction.records());
    } else if (wait_ms > 0 && !no_step_can_come(api.engine.world(), *command)) {
      const auto waiting = steps.wait(std::move(*command), call.origin, call.responder,
                                      api.clock.monotonic_ns() + wait_ms * 1'000'000);
      if (waiting) return;
      outcome = tl::unexpected(waiting.error());
    } else {
      outcome = no_step_result(api, *command);
    }
  }
  call.responder.answer(std::move(outcome));
}

// One with a command id is recorded: a repetition gets the answer of its record.
void heartbeat_step(Api& api, Call& call) {
  const auto command = from_json<HeartbeatStep>(call.params);
  if (!command) return call.responder.reject(command.error());
  const World& world = api.engine.world();
  const bool may_be_quiet = api.renew_step_lease != nullptr && call.origin.command_id.empty() &&
                            is_mere_renewal(world, *command) &&
                            api.engine.takes(call.origin, *command);
  if (may_be_quiet) {
    const Run& run = *world.find_run(command->run_id);
    const StepState& step = *run.plan->find(command->step);
    if (api.renew_step_lease(run, step)) {
      return call.responder.answer(step_renewal_result(api, step.lease_ms));
    }
  }
  apply_command(api, call, *command, step_heartbeat_result);
}

}  // namespace

std::vector<Method> step_methods(StepQueue& steps) {
  return {
      {"step.next", true, Role::worker, params_of<NextStep>(), with(steps, next)},
      {"step.heartbeat", true, Role::worker, params_of<HeartbeatStep>(), heartbeat_step},
      {"step.complete", true, Role::worker, params_of<CompleteStep>(),
       handle_command<CompleteStep, step_end_result>},
      {"step.fail", true, Role::worker, params_of<FailStep>(),
       handle_command<FailStep, step_end_result>},
  };
}

}  // namespace signalbox
