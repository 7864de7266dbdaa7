// `runner.list`, `runner.get`, `runner.drain` and `runner.evict`.
#include "server/rpc/methods/runner_methods.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/rpc/command_call.h"
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

// One that hasn't reported since the start may still have the workspaces of runs.
bool is_named_by_a_run(const World& world, const std::string& runner) {
  return std::any_of(world.runs.begin(), world.runs.end(),
                     [&](const auto& each) { return each.second->machine == runner; }) ||
         std::any_of(world.worktrees.begin(), world.worktrees.end(),
                     [&](const auto& each) { return each.second.runner == runner; });
}

// Returns whether a decision about the runner makes sense: it has reported, or the log names it.
bool is_known(const World& world, RunnerParts& parts, const std::string& runner,
              std::int64_t monotonic_ns) {
  return parts.registry->get(runner, monotonic_ns).has_value() ||
         world.standing_of(runner) != RunnerStanding::free || is_named_by_a_run(world, runner);
}

// Returns the runners: those of this service or, where there are none that could report, as for a
// moment of the past, those that the log names.
std::vector<RunnerView> views_of_all(const Api& api, const RunnerParts& parts) {
  if (parts.registry == nullptr) return recorded_runners(api.engine.world());
  return parts.registry->list(api.clock.monotonic_ns());
}

// The same of one. RUNNER_NOT_FOUND.
Decided<RunnerView> view_of_one(const Api& api, const RunnerParts& parts,
                                const std::string& runner) {
  if (parts.registry != nullptr) return parts.registry->get(runner, api.clock.monotonic_ns());
  for (RunnerView& each : recorded_runners(api.engine.world())) {
    if (each.runner == runner) return std::move(each);
  }
  return runner_not_found(runner);
}

// Return the results of the commands, from their events.
json::object drain_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* const drained = event_as<RunnerDrained>(record.event);
    const auto* const undrained = event_as<RunnerUndrained>(record.event);
    if (drained == nullptr && undrained == nullptr) continue;
    result["runner"] = drained != nullptr ? drained->runner : undrained->runner;
    result["drains"] = drained != nullptr;
    result["changed"] = true;
  }
  return result;
}

json::object evict_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* const evicted = event_as<RunnerEvicted>(record.event);
    const auto* const readmitted = event_as<RunnerReadmitted>(record.event);
    if (evicted == nullptr && readmitted == nullptr) continue;
    result["runner"] = evicted != nullptr ? evicted->runner : readmitted->runner;
    result["evicted"] = evicted != nullptr;
    result["changed"] = true;
  }
  return result;
}

// Returns the runner whose drain is ended for another decision, where there is no more room: of
// those that are lost, without a job, and that no run needs, the one that was drained first.
std::optional<std::string> find_drained_and_gone(const World& world, const RunnerRegistry& registry,
                                                 std::int64_t monotonic_ns) {
  std::set<std::string> needed;
  for (const auto& [id, run] : world.runs) needed.insert(run->machine);
  for (const auto& [id, worktree] : world.worktrees) needed.insert(worktree.runner);
  std::optional<std::string> found;
  Position decided_at = 0;
  for (const auto& [runner, decision] : world.runners) {
    if (decision.standing != RunnerStanding::drained || needed.contains(runner)) continue;
    if (found && decision.decided_at > decided_at) continue;
    const auto view = registry.get(runner, monotonic_ns);
    if (!view || view->state != RunnerState::lost || !view->jobs.empty()) continue;
    found = runner;
    decided_at = decision.decided_at;
  }
  return found;
}

// Applies a command about a runner. Where there is no room for its decision, a drained runner that
// is gone makes some: nobody would ever end its drain.
template <class T>
Decided<std::size_t> apply_decision(const Api& api, const RunnerParts& parts,
                                    Engine::Transaction& transaction, const T& command) {
  auto applied = transaction.apply(command);
  if (applied || applied.error().code != ErrorCode::LIMIT_EXCEEDED) return applied;
  const auto gone =
      find_drained_and_gone(api.engine.world(), *parts.registry, api.clock.monotonic_ns());
  if (!gone || !transaction.apply(DrainRunner{*gone, false})) return applied;
  return transaction.apply(command);
}

// Applies a command about a runner that is known, and answers with the result of its events; with
// `unchanged` if it has none, as the runner is so already, or `undo` undid what the log doesn't
// have.
template <class T>
void decide_about_runner(Api& api, Call& call, RunnerParts& parts, const T& command,
                         ResultOf result_of, json::object unchanged,
                         const std::function<bool()>& undo) {
  if (answered_before(api, call, result_of)) return;
  if (!is_known(api.engine.world(), parts, command.runner, api.clock.monotonic_ns())) {
    return call.responder.reject(runner_not_found(command.runner).value());
  }
  Decided<json::object> outcome;
  {
    auto transaction = api.engine.begin(call.origin);
    const auto applied = apply_decision(api, parts, transaction, command);
    if (!applied) {
      outcome = tl::unexpected(applied.error());
    } else if (*applied == 0) {
      outcome = std::move(unchanged);
      (*outcome)["changed"] = undo();
    } else {
      outcome = result_of(api, transaction.records());
    }
  }
  call.responder.answer(std::move(outcome));
}

}  // namespace

void list_runners(Api& api, Call& call, RunnerParts& parts) {
  if (auto none = from_json<NoParams>(call.params); !none) {
    return call.responder.reject(none.error());
  }
  json::array runners;
  for (const RunnerView& runner : views_of_all(api, parts)) runners.push_back(view_of(runner));
  call.responder.result({{"runners", std::move(runners)}});
}

void get_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto asked = from_json<NamedRunner>(call.params);
  if (!asked) return call.responder.reject(asked.error());
  const auto runner = view_of_one(api, parts, asked->runner);
  if (!runner) return call.responder.reject(runner.error());
  call.responder.result(view_of(*runner));
}

void drain_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto command = from_json<DrainRunner>(call.params);
  if (!command) return call.responder.reject(command.error());
  decide_about_runner(api, call, parts, *command, drain_result,
                      {{"runner", command->runner}, {"drains", command->drains.value_or(true)}},
                      [&] {
                        return !command->drains.value_or(true) &&
                               parts.undo_unrecorded(command->runner, /*evicted=*/false);
                      });
}

void evict_runner(Api& api, Call& call, RunnerParts& parts) {
  const auto command = from_json<EvictRunner>(call.params);
  if (!command) return call.responder.reject(command.error());
  decide_about_runner(api, call, parts, *command, evict_result,
                      {{"runner", command->runner}, {"evicted", command->evicted.value_or(true)}},
                      [&] {
                        return !command->evicted.value_or(true) &&
                               parts.undo_unrecorded(command->runner, /*evicted=*/true);
                      });
}

}  // namespace signalbox
