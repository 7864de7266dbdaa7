// Removes the worktrees of cards' runs that have ended, and at a start orphaned worktrees: those of
// runs that are over for good. Each result is recorded as an event. A failed run that is no card's
// keeps its worktree, since it can be retried; a retention decides about that one. A card's run
// that failed because of what its worktree holds keeps it until somebody unblocks the card: a
// person has to look into it first. Then its work is kept by a ref, which the card's next run is
// given. One whose work couldn't be proposed keeps it until the card is started again: then it goes
// on in it, or another run replaces it.
//
// A worktree stays in the world until that event is applied, so its removal is repeated after a
// crash at any point. All calls come from the engine thread; removals run on a blocking pool.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "server/board/board_files.h"
#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"

namespace signalbox {

// Returns the lane of everything that reads or removes worktrees of a repository: one that hangs
// keeps no worktree of another, and nobody reads a worktree that is being removed.
inline Lane worktree_lane(const std::string& repository) {
  return {.name = "worktrees of " + repository};
}

// Returns those of `run_ids` (as text) that can't go on any more after `position`, which is
// durable, not even by a retry. Error: a sentence that says why nobody can tell. May block; called
// on a thread of the blocking pool.
using RunsOver = std::function<tl::expected<std::set<std::string>, std::string>(
    Position position, const std::set<std::string>& run_ids)>;

// Has the runner that has a worktree remove it: note_removed() says later what became of that.
// Empty: nobody is asked, as in simulations without runners.
using RemoveAtRunner = std::function<void(const CardWorktree& worktree, bool is_handed_on)>;

class WorktreeKeeper {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;

  WorktreeKeeper(Engine& engine, BlockingPool blocking, std::shared_ptr<BoardFiles> files,
                 RunsOver runs_over, Log log, RemoveAtRunner remove_at_runner = nullptr);

  // Removes the worktrees of all ended runs, and the orphans in the projects' repositories. Called
  // at the start, and when the world was rolled back.
  void arm();
  // Removes the worktrees of runs that the records of a durable commit end, and those that waited
  // for a card which the records unblock or start.
  void apply(std::span<const Record> records);
  // Records the end of a removal that a runner was asked for.
  void note_removed(const NoteWorktree& note);

 private:
  // Removes the worktree of an ended run, if the world has it.
  void remove_of(const RunId& run_id);
  // Leaves the worktree of an ended run until its card is unblocked or started.
  void keep_for_card(const RunId& run_id);
  // Removes a worktree that waited.
  void release(std::map<CardId, RunId>::iterator waiting);
  // Returns whether the run's card goes on with it once it is started.
  [[nodiscard]] bool may_go_on(const RunId& run_id) const;
  void remove_orphans_of(const Project& project);
  void remove_orphans(const std::string& project, const std::string& repository,
                      std::set<std::string> run_ids);
  void note(const NoteWorktree& command);

  Engine& engine_;
  const BlockingPool blocking_;
  const std::shared_ptr<BoardFiles> files_;  // shared with removals under way
  const RunsOver runs_over_;
  const Log log_;
  const RemoveAtRunner remove_at_runner_;
  std::set<RunId> under_way_;        // runs whose worktree is being removed
  std::map<CardId, RunId> waiting_;  // by card: runs whose worktree waits for the card
};

}  // namespace signalbox
