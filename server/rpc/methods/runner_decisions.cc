// `runner.list`, `runner.get`, `runner.drain` and `runner.evict`.
#include "server/rpc/methods/runner_methods.h"

#include <algorithm>

#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/platform/stored_json.h"
#include "server/rpc/artifact_work.h"
#include "server/rpc/methods/families.h"
#include "server/runners/runner_registry.h"
#include "server/text/described_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

json::object view_of(const RunnerView& runner) {
  json::object shown;
  shown["runner"] = runner.runner;
  shown["state"] = to_json(runner.state);
  shown["drains"] = runner.drains;
  shown["labels"] = json::array(runner.labels.begin(), runner.labels.end());
  shown["repositories"] = json::array(runner.repositories.begin(), runner.repositories.end());
  shown["slots"] = runner.slots;
  shown["lease_ms"] = runner.lease_ms;
  shown["seen_ms_ago"] = runner.seen_ms_ago;
  shown["jobs"] = json::array(runner.jobs.begin(), runner.jobs.end());
  shown["version"] = runner.version;
  return shown;
}

using RunnerList = std::vector<std::string> RunnerDecisions::*;
using ApplyDecision = std::function<Decided<void>(RunnerRegistry&)>;

// Keeps the decision that a runner is in the list or not, applies it, and answers with `result`. Of
// several at once, each is made after the one before: they have one lane.
void decide_and_answer(Api& api, Call& call, RunnerParts& parts, const std::string& runner,
                       RunnerList list, bool is_in, const ApplyDecision& apply,
                       json::object result) {
  api.blocking.run({.name = "decisions about runners"},
                   [&parts, runner, list, is_in, apply, responder = call.responder,
                    result = std::move(result)]() -> std::function<void()> {
                     RunnerDecisions decisions = parts.registry->decisions();
                     std::erase(decisions.*list, runner);
                     if (is_in) (decisions.*list).push_back(runner);
                     const auto kept = parts.decisions.empty()
                                           ? Stored<void>()
                                           : write_stored_json(parts.decisions, decisions);
                     if (!kept) {
                       return [responder, why = unstored_artifact("runners.json", kept.error())] {
                         responder.reject(why);
                       };
                     }
                     const auto applied = apply(*parts.registry);
                     return [&parts, responder, applied, result] {
                       if (!applied) return responder.reject(applied.error());
                       parts.offers_changed();
                       responder.result(result);
                     };
                   });
}

// One that hasn't reported since the start may still have the workspaces of runs.
bool is_named_by_a_run(const World& world, const std::string& runner) {
  return std::any_of(world.runs.begin(), world.runs.end(),
                     [&](const auto& each) { return each.second->machine == runner; }) ||
         std::any_of(world.worktrees.begin(), world.worktrees.end(),
                     [&](const auto& each) { return each.second.runner == runner; });
}

}  // namespace

void list_runners(Api& api, Call& call, RunnerParts& parts) {
  if (auto none = from_json<NoParams>(call.params); !none) {
    return call.responder.reject(none.error());
  }
  json::array runners;
  for (const RunnerView& runner : parts.registry->list(api.clock.monotonic_ns())) {
    runners.push_back(view_of(runner));
  }
  call.responder.result({{"runners", std::move(runners)}});
}

void get_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<NamedRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto runner = parts.registry->get(asked->runner, api.clock.monotonic_ns());
  if (!runner) return call.responder.reject(runner.error());
  call.responder.result(view_of(*runner));
}

void drain_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<DrainRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const bool drains = asked->drains.value_or(true);
  const auto known = parts.registry->get(asked->runner, api.clock.monotonic_ns());
  if (!known) return call.responder.reject(known.error());
  decide_and_answer(api, call, parts, asked->runner, &RunnerDecisions::drained, drains,
                    [runner = asked->runner, drains](RunnerRegistry& registry) {
                      return registry.drain(runner, drains);
                    },
                    {{"runner", asked->runner}, {"drains", drains}});
}

void evict_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<NamedRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  if (is_named_by_a_run(api.engine.world(), asked->runner)) parts.registry->expect(asked->runner);
  const auto known = parts.registry->get(asked->runner, api.clock.monotonic_ns());
  if (!known) return call.responder.reject(known.error());
  decide_and_answer(
      api, call, parts, asked->runner, &RunnerDecisions::evicted, true,
      [runner = asked->runner](RunnerRegistry& registry) { return registry.evict(runner); },
      {{"runner", asked->runner}, {"evicted", true}});
}

}  // namespace signalbox
