// The workspaces that a runner has: removes those of runs that need them no more, after keeping
// work that is nowhere else.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/runner/runner_work.h"

namespace signalbox {

// What became of the worktree of a card's run.
struct WorkspaceOutcome {
  std::string path;
  bool removed = false;
  bool rescued = false;  // the run's rescue ref has work of it
  std::string reason;    // a sentence, if it isn't removed, or isn't at the remote
};

class RunnerRuns {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;
  // Keeps jobs of the run from being begun as long as the result lives, as when it is retried while
  // its workspace is removed; nullptr if one is under way here: after the runner was away, one may
  // be whose attempt the service has ended meanwhile. Any thread.
  using HoldJobs = std::function<std::shared_ptr<const void>(const RunId& run_id)>;

  // `work` outlives this.
  RunnerRuns(const RunnerWork& work, HoldJobs hold_jobs, Log log);

  // Returns the runs whose workspaces are here, at most `count` of them: others than last time if
  // there are more.
  [[nodiscard]] std::vector<RunId> next(std::size_t count);
  // Removes the workspaces of those of `asked` that are over, and of those that weren't open either
  // for failed_kept: they failed, and nobody has retried them. Those with a job
  // under way stay until they are asked about again. Blocks on git.
  void remove(const std::vector<RunId>& asked, const std::set<RunId>& open,
              const std::set<RunId>& over);
  // Removes the workspace of a card's run that has ended. If its work is handed on, what exists
  // nowhere else goes to the remote, as rescue_branch_of(); nullopt while that fails, or a job is
  // under way there, and it is to be tried again. Blocks on git.
  std::optional<WorkspaceOutcome> remove(const WorkspaceRemoval& removal);
  // Ends what is under way, as far as git lets itself be ended. Any thread.
  void stop() { stopped_ = true; }
  // The service knows what became of it.
  void forget(const RunId& run_id);

 private:
  // Does it while no job of the run is under way, nor begins.
  WorkspaceOutcome remove(const RunId& run_id, bool is_handed_on);

  const RunnerWork& work_;
  const HoldJobs hold_jobs_;
  const Log log_;
  RunId latest_{};        // of next()
  std::set<RunId> left_;  // whose workspaces can't be removed: said once
  struct Push {
    int failures = 0;
    std::chrono::steady_clock::time_point not_before{};
  };
  std::map<RunId, Push> pushes_;  // of runs whose work isn't at the remote yet
  std::atomic<bool> stopped_ = false;
};

}  // namespace signalbox
