// Worktrees of cards' runs that were left because of what they hold (needs_look_at_worktree()). A
// person looks into them and unblocks the card: then their removal is tried again, which keeps
// their work by a ref.
//
// All calls come from the engine thread; removals run on a blocking pool.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "server/board/board_files.h"
#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"

namespace signalbox {

class LeftWorktrees {
 public:
  using Log = std::function<void(bool ok, const std::string& text)>;

  LeftWorktrees(Engine& engine, BlockingPool blocking, std::shared_ptr<BoardFiles> files, Log log);

  // Finds the cards that wait because of their worktree. Called at the start, and when the world
  // was rolled back.
  void arm();
  // Notes the cards that wait from now on, and tries again for those that were unblocked by the
  // records of a durable commit.
  void apply(std::span<const Record> records);

 private:
  // Notes that the card waits, if it does because of a failure with this code of its run.
  void add(const CardId& id, const RunId& run_id, const std::string& code);
  void remove(const CardWorktree& worktree);

  Engine& engine_;
  const BlockingPool blocking_;
  const std::shared_ptr<BoardFiles> files_;  // shared with removals under way
  const Log log_;
  std::map<CardId, CardWorktree> waiting_;
};

}  // namespace signalbox
