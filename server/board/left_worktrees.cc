#include "server/board/left_worktrees.h"

#include <utility>

#include "domain/attempt_end.h"

namespace signalbox {

LeftWorktrees::LeftWorktrees(Engine& engine, BlockingPool blocking,
                             std::shared_ptr<BoardFiles> files, Log log)
    : engine_(engine),
      blocking_(std::move(blocking)),
      files_(std::move(files)),
      log_(std::move(log)) {}

void LeftWorktrees::arm() {
  waiting_.clear();
  for (const auto& [id, card] : engine_.world().board.cards()) {
    const bool waits = card->status == CardStatus::blocked || card->status == CardStatus::failed;
    if (waits) add(id, card->run_id, card->code);
  }
}

void LeftWorktrees::apply(std::span<const Record> records) {
  for (const Record& record : records) {
    const CardId& id = record.stream.run_id;
    if (const auto* blocked = event_as<CardBlocked>(record.event)) {
      add(id, blocked->run_id, blocked->code);
    } else if (const auto* failed = event_as<CardFailed>(record.event)) {
      add(id, failed->run_id, failed->code);
    } else if (event_as<CardUnblocked>(record.event) != nullptr) {
      const auto found = waiting_.find(id);
      if (found == waiting_.end()) continue;
      remove(found->second);
      waiting_.erase(found);
    }
  }
}

void LeftWorktrees::add(const CardId& id, const RunId& run_id, const std::string& code) {
  if (!needs_look_at_worktree(code)) return;
  const Card* card = engine_.world().board.find(id);
  const Project* project = card == nullptr ? nullptr : engine_.world().find_project(card->project);
  if (project != nullptr) {
    waiting_.insert_or_assign(id, CardWorktree{run_id, project->name, project->repository});
  }
}

void LeftWorktrees::remove(const CardWorktree& worktree) {
  // The lane of all worktrees of the repository.
  blocking_.run({.name = "worktrees of " + worktree.repository},
                [this, worktree, files = files_]() -> std::function<void()> {
                  return [this, note = files->remove_worktree(worktree)] {
                    if (note.removed && note.path.empty()) return;  // there was none any more
                    if (!note.removed) {
                      log_(false, "worktree " + note.path + " is left: " + note.reason);
                    }
                    (void)engine_.begin(by_the_service).apply(note);
                  };
                });
}

}  // namespace signalbox
