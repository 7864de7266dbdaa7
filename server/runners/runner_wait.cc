#include "server/runners/runner_wait.h"

#include <algorithm>
#include <vector>

#include "domain/placement.h"
#include "server/runners/runner_registry.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

JobPlace place_of(const RunnerView& runner) {
  JobPlace place{runner.runner, runner.labels, runner.repositories};
  std::sort(place.labels.begin(), place.labels.end());
  std::sort(place.repositories.begin(), place.repositories.end());
  return place;
}

bool is_there(const RunnerView& runner) {
  return runner.state == RunnerState::connected || runner.state == RunnerState::away;
}

RunnerWait wait_for(const std::string& machine, std::span<const RunnerView> runners) {
  const auto found = std::find_if(runners.begin(), runners.end(), [&](const RunnerView& runner) {
    return runner.runner == machine;
  });
  const std::string begin = "its workspace is at " + machine;
  const std::string evict = ", or `signalbox runner evict " + machine + "` if it is gone for good";
  if (found == runners.end() || found->state == RunnerState::lost) {
    return {begin + ", which doesn't report", "the return of that runner" + evict};
  }
  if (found->drains)
    return {begin + ", which takes no new jobs", "`signalbox runner drain --off " + machine + "`"};
  return {begin + ", all of whose slots are taken", "the end of one of its jobs",
          /*is_for_slot=*/true};
}

// Returns those of the labels that no runner has.
std::vector<std::string> missing_labels(const std::vector<std::string>& wanted,
                                        std::span<const RunnerView> runners) {
  std::vector<std::string> missing;
  for (const std::string& label : wanted) {
    const bool known = std::any_of(runners.begin(), runners.end(), [&](const RunnerView& runner) {
      return is_there(runner) && std::count(runner.labels.begin(), runner.labels.end(), label) > 0;
    });
    if (!known) missing.push_back(label);
  }
  return missing;
}

}  // namespace

RunnerWait why_no_runner(const Run& run, std::span<const RunnerView> runners) {
  if (!has_job(run.definition())) return {};
  const auto bound = std::find_if(runners.begin(), runners.end(), [&](const RunnerView& runner) {
    return runner.runner == run.machine;
  });
  const bool is_evicted = bound != runners.end() && bound->state == RunnerState::evicted;
  if (is_evicted && !run.repository.empty() && run.current > 0) {
    return {"its worktree was at " + run.machine + ", which was evicted",
            "`signalbox run cancel " + to_string(run.id) + "`, and a new run"};
  }
  if (is_runner(run.machine) && !is_evicted) return wait_for(run.machine, runners);
  if ((!run.machine.empty() && !is_evicted) || suits_service(run)) return {};
  const std::vector<std::string> wanted = labels_of(run.definition());
  const auto missing = missing_labels(wanted, runners);
  if (!missing.empty()) {
    return {"no runner has the label " + comma_separated(missing),
            "a runner with --labels " + comma_separated(wanted)};
  }
  std::vector<std::string> drained;
  for (const RunnerView& runner : runners) {
    if (!is_there(runner) || !suits_runner(run, place_of(runner))) continue;
    if (!runner.drains) {
      return {"all slots of the runners that suit it are taken", "the end of one of their jobs",
              /*is_for_slot=*/true};
    }
    drained.push_back(runner.runner);
  }
  if (!drained.empty()) {
    return {"the runners that suit it take no new jobs: " + comma_separated(drained),
            "`signalbox runner drain --off " + drained.front() + "`"};
  }
  if (!run.repository.empty()) {
    return {"no runner with the labels " + comma_separated(wanted) + " has the repository " +
                run.repository,
            "a runner with --labels " + comma_separated(wanted) + " and --repository " +
                run.repository};
  }
  return {"no runner has all of the labels " + comma_separated(wanted),
          "a runner with --labels " + comma_separated(wanted)};
}

}  // namespace signalbox
