// The workspaces that a runner has: removes those of runs that need them no more, after keeping
// work that is nowhere else.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/runner/runner_work.h"

namespace signalbox {

class RunnerRuns {
 public:
  using Log = std::function<void(const std::string& text)>;

  // `work` outlives this.
  RunnerRuns(const RunnerWork& work, Log log);

  // Returns the runs whose workspaces are here, at most `count` of them: others than last time if
  // there are more.
  [[nodiscard]] std::vector<RunId> next(std::size_t count);
  // Removes the workspaces of those of `asked` that are over, and of those that aren't open and
  // weren't touched for failed_kept: they failed, and nobody has retried them. Blocks on git.
  void remove(const std::vector<RunId>& asked, const std::set<RunId>& open,
              const std::set<RunId>& over);

 private:
  void remove(const RunId& run_id);

  const RunnerWork& work_;
  const Log log_;
  RunId latest_{};        // of next()
  std::set<RunId> left_;  // whose workspaces can't be removed: said once
};

}  // namespace signalbox
