#include "server/board/worktree_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "domain/admission.h"
#include "domain/attempt_end.h"
#include "server/engine/engine.h"

namespace signalbox {
namespace {

// Returns whether the commit leaves the run's card with nothing to do but to propose its work, for
// which it goes on in the worktree. The code of the run itself doesn't say where it failed.
bool is_left_unproposed(std::span<const Record> commit, const RunId& run_id) {
  return std::any_of(commit.begin(), commit.end(), [&run_id](const Record& record) {
    const auto* blocked = event_as<CardBlocked>(record.event);
    if (blocked != nullptr) return blocked->run_id == run_id && is_only_unproposed(blocked->code);
    const auto* failed = event_as<CardFailed>(record.event);
    return failed != nullptr && failed->run_id == run_id && is_only_unproposed(failed->code);
  });
}

}  // namespace

WorktreeKeeper::WorktreeKeeper(Engine& engine, BlockingPool blocking,
                               std::shared_ptr<BoardFiles> files, RunsOver runs_over, Log log,
                               RemoveAtRunner remove_at_runner)
    : engine_(engine),
      blocking_(std::move(blocking)),
      files_(std::move(files)),
      runs_over_(std::move(runs_over)),
      log_(std::move(log)),
      remove_at_runner_(std::move(remove_at_runner)) {}

void WorktreeKeeper::arm() {
  under_way_.clear();
  waiting_.clear();
  const World& world = engine_.world();
  std::vector<RunId> ended;
  for (const auto& [run_id, worktree] : world.worktrees) {
    if (world.find_run(run_id) != nullptr) continue;
    if (waits_for_look(world, run_id) || may_go_on(run_id)) {
      keep_for_card(run_id);
    } else {
      ended.push_back(run_id);
    }
  }
  for (const RunId& run_id : ended) remove_of(run_id);
  for (const auto& [name, project] : world.projects) remove_orphans_of(project);
}

void WorktreeKeeper::apply(std::span<const Record> records) {
  for (const Record& record : records) {
    // It isn't enough that the world has no such run: its end may be applied, but not durable.
    const bool ended = event_as<RunSucceeded>(record.event) != nullptr ||
                       event_as<RunFailed>(record.event) != nullptr ||
                       event_as<RunCanceled>(record.event) != nullptr;
    const auto* failed = event_as<RunFailed>(record.event);
    if (failed != nullptr && (needs_look_at_worktree(failed->code) ||
                              is_left_unproposed(records, record.stream.run_id))) {
      keep_for_card(record.stream.run_id);
    } else if (ended) {
      remove_of(record.stream.run_id);
    } else if (event_as<CardUnblocked>(record.event) != nullptr) {
      const auto waiting = waiting_.find(record.stream.run_id);
      if (waiting != waiting_.end() && !may_go_on(waiting->second)) release(waiting);
    } else if (const auto* started = event_as<CardStarted>(record.event)) {
      const auto waiting = waiting_.find(record.stream.run_id);
      if (waiting == waiting_.end()) continue;
      if (waiting->second == started->run_id) {
        waiting_.erase(waiting);  // the card goes on in it
      } else {
        release(waiting);
      }
    }
  }
}

bool WorktreeKeeper::may_go_on(const RunId& run_id) const {
  const World& world = engine_.world();
  const Card* card = world.board.find_by_run(run_id);
  if (card == nullptr || card->run_id != run_id) return false;
  if (goes_on_with_run(world, *card)) return true;
  // The project may get its former repository again before another run replaces this one. A card
  // with a worktree at a runner waits for its removal instead (waits_for_worktree()).
  return !former_repository(world, *card).empty() && world.worktrees.at(run_id).runner.empty();
}

void WorktreeKeeper::keep_for_card(const RunId& run_id) {
  const Card* card = engine_.world().board.find_by_run(run_id);
  // It is no card's, or the card is worked on again already, or it is a merge's, which can be made
  // again.
  if (card == nullptr || card->run_id != run_id) return remove_of(run_id);
  waiting_.insert_or_assign(card->id, run_id);
}

void WorktreeKeeper::release(std::map<CardId, RunId>::iterator waiting) {
  remove_of(waiting_.extract(waiting).mapped());
}

void WorktreeKeeper::remove_of(const RunId& run_id) {
  const World& world = engine_.world();
  const auto found = world.worktrees.find(run_id);
  if (found == world.worktrees.end()) return;
  // Its card went on with the run meanwhile.
  if (world.find_run(run_id) != nullptr || !under_way_.insert(run_id).second) return;
  const Card* card = world.board.find_by_run(run_id);
  const bool is_handed_on = card != nullptr && card->run_id == run_id && hands_on_worktree(*card);
  if (remove_at_runner_ && !found->second.runner.empty()) {
    return remove_at_runner_(found->second, is_handed_on);
  }
  blocking_.run(
      worktree_lane(found->second.repository),
      [this, worktree = found->second, is_handed_on, files = files_]() -> std::function<void()> {
        return
            [this, note = files->remove_worktree(worktree, is_handed_on)] { note_removed(note); };
      });
}

void WorktreeKeeper::note_removed(const NoteWorktree& note) {
  under_way_.erase(note.run_id);
  this->note(note);
}

// The worktrees are listed first, and only then compared with the known runs. A run that begins in
// between either has no listed worktree, or is known.
void WorktreeKeeper::remove_orphans_of(const Project& project) {
  blocking_.run(
      worktree_lane(project.repository),
      [this, name = project.name, repository = project.repository,
       files = files_]() -> std::function<void()> {
        auto listed = files->runs_with_worktrees(repository);
        return [this, name, repository, listed = std::move(listed)]() mutable {
          if (!listed) return log_(false, "worktrees of project " + name + ": " + listed.error());
          const World& world = engine_.world();
          std::erase_if(*listed, [&world](const std::string& text) {
            const auto id = parse_uuid(text);
            // Known runs are removed by remove_of(), which saves their content.
            return id && (world.find_run(*id) != nullptr || world.worktrees.contains(*id));
          });
          if (listed->empty()) return;
          // The end of one of these runs may be applied, but not durable.
          engine_.release_when_durable([this, name, repository, listed](Durability durability) {
            if (durability == Durability::durable) remove_orphans(name, repository, *listed);
          });
        };
      });
}

// An ended run may be retried at any time until its worktree is gone. So only those go that are
// over for good.
void WorktreeKeeper::remove_orphans(const std::string& project, const std::string& repository,
                                    std::set<std::string> run_ids) {
  blocking_.run(worktree_lane(repository),
                [this, project, repository, run_ids = std::move(run_ids), runs_over = runs_over_,
                 position = engine_.durable_position(), files = files_]() -> std::function<void()> {
                  const auto remove = [&](const std::set<std::string>& over) {
                    return files->remove_orphans(project, repository, over);
                  };
                  auto notes = runs_over(position, run_ids).and_then(remove);
                  return [this, project, notes = std::move(notes)] {
                    if (!notes)
                      return log_(false, "worktrees of project " + project + ": " + notes.error());
                    for (const NoteWorktree& each : *notes) note(each);
                  };
                });
}

void WorktreeKeeper::note(const NoteWorktree& command) {
  if (!command.removed) log_(false, "worktree " + command.path + " is left: " + command.reason);
  (void)engine_.begin(by_the_service).apply(command);
}

}  // namespace signalbox
