#include "server/board/worktree_keeper.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "server/engine/engine.h"
#include "server/executors/git_command.h"
#include "server/worktrees/orphan_worktrees.h"
#include "server/worktrees/worktree_list.h"
#include "server/worktrees/worktree_removal.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// The worktree of a run, by git's own list: its name says what kind of run it was.
std::string worktree_below(const fs::path& repository, const fs::path& run_root) {
  const auto listed = list_worktrees(repository);
  if (!listed) return {};
  for (const ListedWorktree& each : *listed) {
    if (each.path.parent_path() == run_root) return each.path;
  }
  return {};
}

}  // namespace

WorktreeKeeper::WorktreeKeeper(Engine& engine, RunBlocking run_blocking, fs::path runs_directory,
                               Log log)
    : engine_(engine),
      run_blocking_(std::move(run_blocking)),
      runs_directory_(std::move(runs_directory)),
      log_(std::move(log)) {}

void WorktreeKeeper::arm() {
  under_way_.clear();
  const World& world = engine_.world();
  std::vector<RunId> ended;
  for (const auto& [run_id, worktree] : world.worktrees) {
    if (world.find_run(run_id) == nullptr) ended.push_back(run_id);
  }
  for (const RunId& run_id : ended) remove_of(run_id);
  for (const auto& [name, project] : world.projects) remove_orphans_of(project);
}

void WorktreeKeeper::observe(std::span<const Record> records) {
  const World& world = engine_.world();
  for (const Record& record : records) {
    if (record.stream.kind != StreamKind::run) continue;
    const RunId& run_id = record.stream.run_id;
    if (!world.worktrees.contains(run_id) || world.find_run(run_id) != nullptr) continue;
    remove_of(run_id);
  }
}

void WorktreeKeeper::remove_of(const RunId& run_id) {
  if (!under_way_.insert(run_id).second) return;
  const CardWorktree worktree = engine_.world().worktrees.at(run_id);
  run_blocking_([this, worktree, runs = runs_directory_]() -> std::function<void()> {
    NoteWorktree note;
    note.project = worktree.project;
    note.run_id = worktree.run_id;
    const std::string id = to_string(worktree.run_id);
    note.path = worktree_below(worktree.repository, runs / id);
    if (note.path.empty()) {
      note.removed = true;  // it came to none
    } else {
      RemovalRequest request;
      request.repository = worktree.repository;
      request.path = note.path;
      request.run_id = id;
      const RemovalOutcome outcome = remove_worktree(request);
      note.removed = outcome.result != Removal::left;
      note.rescue_ref = outcome.rescue_ref;
      note.reason = outcome.reason;
    }
    return [this, note] {
      under_way_.erase(note.run_id);
      this->note(note);
    };
  });
}

void WorktreeKeeper::remove_orphans_of(const Project& project) {
  auto known = std::make_shared<std::set<std::string>>();
  for (const auto& [id, run] : engine_.world().runs) known->insert(to_string(id));
  // Those have their own removal, which saves what is in them.
  for (const auto& [id, worktree] : engine_.world().worktrees) known->insert(to_string(id));
  run_blocking_([this, name = project.name, repository = project.repository, runs = runs_directory_,
                 known]() -> std::function<void()> {
    auto outcomes = remove_orphans(
        repository, runs, [known](const std::string& run_id) { return known->contains(run_id); });
    return [this, name, outcomes = std::move(outcomes)] {
      if (!outcomes) return log_(false, "worktrees of project " + name + ": " + outcomes.error());
      for (const OrphanOutcome& each : *outcomes) {
        NoteWorktree command;
        command.project = name;
        if (const auto run_id = parse_uuid(each.orphan.run_id)) command.run_id = *run_id;
        command.path = each.orphan.path;
        command.removed = each.outcome.result != Removal::left;
        command.rescue_ref = each.outcome.rescue_ref;
        command.reason =
            each.orphan.left_because.empty() ? each.outcome.reason : each.orphan.left_because;
        note(command);
      }
    };
  });
}

void WorktreeKeeper::note(const NoteWorktree& command) {
  if (!command.removed) log_(false, "worktree " + command.path + " is left: " + command.reason);
  (void)engine_.begin(by_the_service).apply(command);
}

}  // namespace signalbox
