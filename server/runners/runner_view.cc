// Runners as people see them, and what people have decided about them.
#include <algorithm>
#include <map>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/placement.h"
#include "server/limits.h"
#include "server/runners/runner_registry.h"
#include "server/text/utf8_text.h"

namespace signalbox {

std::vector<RunnerView> recorded_runners(const World& world) {
  std::map<std::string, RunnerView> views;
  const auto view_of = [&views](const std::string& name) -> RunnerView& {
    RunnerView& view = views[name];
    view.runner = name;
    view.lease_ms = limits::runner_lease_ms_default;
    return view;
  };
  for (const auto& [name, decision] : world.runners) {
    RunnerView& view = view_of(name);
    view.drains = decision.standing == RunnerStanding::drained;
    if (decision.standing == RunnerStanding::evicted) view.state = RunnerState::evicted;
  }
  for (const auto& [id, run] : world.runs) {
    if (is_runner(run->machine)) view_of(run->machine);
    if (!run->attempt || run->attempt->job_id.empty() || !is_runner(run->attempt->machine))
      continue;
    view_of(run->attempt->machine).jobs.push_back(run->attempt->job_id);
  }
  for (const auto& [id, worktree] : world.worktrees) {
    if (!worktree.runner.empty()) view_of(worktree.runner);
  }
  std::vector<RunnerView> found;
  for (auto& [name, view] : views) {
    std::sort(view.jobs.begin(), view.jobs.end());  // the runs of a world have no order
    found.push_back(std::move(view));
  }
  return found;
}

tl::unexpected<Rejection> runner_not_found(const std::string& runner) {
  const std::string shown = shortened(runner, limits::name_bytes_max);
  return reject(ErrorCode::RUNNER_NOT_FOUND,
                "no runner " + shown + " has reported since the service started",
                {{"runner", shown}}, {"signalbox runner list"});
}

bool RunnerRegistry::apply(std::span<const Record> records) {
  bool any = false;
  for (const Record& record : records) {
    if (!std::holds_alternative<RunnerEvent>(record.event)) continue;
    any = true;
    if (const auto* drained = event_as<RunnerDrained>(record.event)) drain(drained->runner, true);
    if (const auto* back = event_as<RunnerUndrained>(record.event)) drain(back->runner, false);
    if (const auto* evicted = event_as<RunnerEvicted>(record.event)) evict(evicted->runner);
    if (const auto* back = event_as<RunnerReadmitted>(record.event)) evict(back->runner, false);
  }
  return any;
}

void RunnerRegistry::restore(const World& world) {
  for (const auto& [runner, decision] : world.runners) {
    if (decision.standing == RunnerStanding::drained) drain(runner, true);
    if (decision.standing == RunnerStanding::evicted) evict(runner);
  }
}

RunnerView RunnerRegistry::view_of(const std::string& name, const Runner& runner,
                                   std::int64_t monotonic_ns) const {
  RunnerView view{name,
                  state_of(runner),
                  runner.is_drained || runner.latest.drains,
                  runner.latest.labels,
                  runner.latest.repositories,
                  runner.latest.slots,
                  runner.lease_ms(),
                  (monotonic_ns - runner.seen_ns) / ns_per_ms,
                  {},
                  runner.latest.version.value_or("")};
  for (const auto& [job_id, given] : runner.given) view.jobs.push_back(job_id);
  return view;
}

std::vector<RunnerView> RunnerRegistry::list(std::int64_t monotonic_ns) const {
  const std::lock_guard lock(mutex_);
  std::vector<RunnerView> views;
  for (const auto& [name, runner] : runners_) views.push_back(view_of(name, runner, monotonic_ns));
  return views;
}

Decided<RunnerView> RunnerRegistry::get(const std::string& name, std::int64_t monotonic_ns) const {
  const std::lock_guard lock(mutex_);
  const auto runner = runners_.find(name);
  if (runner == runners_.end()) return runner_not_found(name);
  return view_of(name, runner->second, monotonic_ns);
}

}  // namespace signalbox
