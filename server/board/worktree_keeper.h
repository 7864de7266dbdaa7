// Removes the worktrees of cards' runs when these have ended, and at a start those that no run has
// any more. What became of each one is an event.
//
// A worktree that is to go stays in the world until its event is there: after a crash at any point
// it is tried again.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "server/engine/engine.h"

namespace signalbox {

class WorktreeKeeper {
 public:
  using RunBlocking = std::function<void(std::function<std::function<void()>()> work)>;
  using Log = std::function<void(bool ok, const std::string& text)>;

  WorktreeKeeper(Engine& engine, RunBlocking run_blocking, std::filesystem::path runs_directory,
                 Log log);

  // At the start: of all runs that ended, and what lies about in the projects' repositories.
  void arm();
  // Follows what is durable: a run may have ended.
  void observe(std::span<const Record> records);

 private:
  void remove_of(const RunId& run_id);
  void remove_orphans_of(const Project& project);
  void note(const NoteWorktree& command);

  Engine& engine_;
  const RunBlocking run_blocking_;
  const std::filesystem::path runs_directory_;
  const Log log_;
  std::set<RunId> under_way_;
};

}  // namespace signalbox
