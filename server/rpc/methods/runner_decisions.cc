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
  return shown;
}

// Answers with `result` once what operators have decided is kept.
void answer_when_kept(Api& api, Call& call, const RunnerParts& parts, json::object result) {
  parts.offers_changed();
  api.blocking.run(
      {.name = "decisions about runners"},
      [file = parts.decisions, decisions = parts.registry->decisions(), responder = call.responder,
       result = std::move(result)]() mutable -> std::function<void()> {
        const auto kept = file.empty() ? Stored<void>() : write_stored_json(file, decisions);
        if (!kept) {
          return [responder, why = unstored_artifact("runners.json", kept.error())] {
            responder.reject(why);
          };
        }
        return [responder, result = std::move(result)] { responder.result(result); };
      });
}

// One that hasn't reported since the start may still have the workspaces of runs.
bool is_named_by_a_run(const World& world, const std::string& runner) {
  return std::any_of(world.runs.begin(), world.runs.end(),
                     [&](const auto& each) { return each.second->machine == runner; });
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
  for (const RunnerView& runner : parts.registry->list(api.clock.monotonic_ns())) {
    if (runner.runner == asked->runner) return call.responder.result(view_of(runner));
  }
  call.responder.reject({ErrorCode::RUNNER_NOT_FOUND,
                         "no runner " + asked->runner + " has reported since the service started",
                         {{"runner", asked->runner}},
                         {"signalbox runner list"}});
}

void drain_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<DrainRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const bool drains = asked->drains.value_or(true);
  const auto done = parts.registry->drain(asked->runner, drains);
  if (!done) return call.responder.reject(done.error());
  answer_when_kept(api, call, parts, {{"runner", asked->runner}, {"drains", drains}});
}

void evict_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<NamedRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  if (is_named_by_a_run(api.engine.world(), asked->runner)) parts.registry->expect(asked->runner);
  const auto done = parts.registry->evict(asked->runner);
  if (!done) return call.responder.reject(done.error());
  answer_when_kept(api, call, parts, {{"runner", asked->runner}, {"evicted", true}});
}

}  // namespace signalbox
