// The worktrees of cards' runs that runners are to remove. It is memory only: a restarted service
// wants the same again, since the worktrees stay in the world until their end is recorded.
//
// All of it is called on the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/project.h"
#include "server/runners/runner_report.h"

namespace signalbox {

class RunnerRemovals {
 public:
  // Has the worktree's runner remove it. If its work `is_handed_on`, the runner also keeps the
  // commits of the run's branch, and gives all of it to the remote.
  void want(const CardWorktree& worktree, bool is_handed_on);
  // Returns what the runner is to be asked now. It is asked for each again after a while, in case
  // the question was lost.
  [[nodiscard]] std::vector<WorkspaceRemoval> take_questions(const std::string& runner,
                                                             std::int64_t monotonic_ns);
  // Has the runner asked for all of them again: its process is another one.
  void ask_again(const std::string& runner);
  // Returns the worktree of the run if this runner was to remove it, and wants that no more.
  std::optional<CardWorktree> take(const std::string& runner, const RunId& run_id);

 private:
  struct Wanted {
    CardWorktree worktree;
    bool is_handed_on = false;
    std::optional<std::int64_t> asked_ns;  // monotonic
  };

  std::map<RunId, Wanted> wanted_;
};

}  // namespace signalbox
