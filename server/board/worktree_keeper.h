// Removes the worktrees of cards' runs when these have ended, and at a start those that no run has
// any more. What became of each one is an event.
//
// A worktree that is to go stays in the world until its event is there: after a crash at any point
// it is tried again.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "server/board/board_files.h"
#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"

namespace signalbox {

class WorktreeKeeper {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;

  WorktreeKeeper(Engine& engine, BlockingPool blocking, std::shared_ptr<BoardFiles> files, Log log);

  // At the start: of all runs that ended, and what lies about in the projects' repositories.
  void arm();
  // Follows what is durable: a run may have ended.
  void apply(std::span<const Record> records);

 private:
  void remove_of(const RunId& run_id);
  void remove_orphans_of(const Project& project);
  void remove_orphans(const std::string& project, const std::string& repository,
                      std::set<std::string> run_ids);
  void note(const NoteWorktree& command);

  Engine& engine_;
  const BlockingPool blocking_;
  const std::shared_ptr<BoardFiles> files_;  // the thread's, too, for as long as it needs it
  const Log log_;
  std::set<RunId> under_way_;
};

}  // namespace signalbox
