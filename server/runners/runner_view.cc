// Runners as people see them.
#include "domain/nanoseconds.h"
#include "server/runners/runner_registry.h"

namespace signalbox {

tl::unexpected<Rejection> runner_not_found(const std::string& runner) {
  return reject(ErrorCode::RUNNER_NOT_FOUND,
                "no runner " + runner + " has reported since the service started",
                {{"runner", runner}}, {"signalbox runner list"});
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
