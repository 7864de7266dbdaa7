#include "server/board/git_board_files.h"

#include <utility>

#include "domain/try.h"
#include "server/git/orphan_worktrees.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_list.h"
#include "server/git/worktree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns the run's worktree; one without a path if it has none. It comes from git's list, because
// the directory's name depends on the kind of run; git lists paths without links. Error: a
// sentence.
tl::expected<ListedWorktree, std::string> worktree_below(const fs::path& repository,
                                                         const fs::path& run_root) {
  const auto listed = TRY(list_worktrees(repository));
  const fs::path resolved_root = resolved_path(run_root);
  for (const ListedWorktree& each : listed) {
    // An agent may have made others beside its own.
    const bool is_of_run = each.path.filename() == "workspace" || is_merge_worktree(each.path);
    if (is_of_run && resolved_path(each.path.parent_path()) == resolved_root) return each;
  }
  return ListedWorktree{};
}

NoteWorktree note_of(const std::string& project, const OrphanOutcome& each) {
  NoteWorktree note;
  note.project = project;
  if (const auto run_id = parse_uuid(each.orphan.run_id)) note.run_id = *run_id;
  note.path = with_replacements(each.orphan.path.string());
  note.removed = each.outcome.result != Removal::left;
  note.rescue_ref = each.outcome.rescue_ref;
  note.reason = with_replacements(each.orphan.left_because.empty() ? each.outcome.reason
                                                                   : each.orphan.left_because);
  return note;
}

}  // namespace

GitBoardFiles::GitBoardFiles(fs::path runs_directory, HasJob has_job,
                             FindOtherMachine find_other_machine)
    : runs_directory_(std::move(runs_directory)),
      has_job_(std::move(has_job)),
      find_other_machine_(std::move(find_other_machine)) {}

fs::path GitBoardFiles::pins_of(const std::string& run_id) const {
  return runs_directory_.parent_path() / pins_directory_name / run_id;
}

// Git's list may be shared, and so may the names of directories. What a station pins here lies
// beside the worktree until that is removed.
std::string GitBoardFiles::elsewhere(const RunId& run_id, const fs::path& path) const {
  if (!find_other_machine_ || is_there(pins_of(to_string(run_id)))) return {};
  if (!path.empty() && is_there(path)) return {};
  const auto machine = find_other_machine_(run_id);
  if (!machine) return machine.error();
  if (machine->empty()) return {};
  return "it isn't on this server's disk, and jobs of its run were given to machine " + *machine +
         ": its server removes what is there when it takes commands again, and `git worktree list` "
         "of the repository shows it there";
}

Stored<std::shared_ptr<const PolicyReading>> GitBoardFiles::read_policy(const fs::path& repository,
                                                                        const std::string& base,
                                                                        std::int64_t now_ns) {
  const CallBounds bounds(CallBounds::now_ms() + limits::policy_git_ms_max);
  return policies_.read(repository, base, now_ns);
}

NoteWorktree GitBoardFiles::remove_worktree(const CardWorktree& worktree, bool is_handed_on) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max);
  NoteWorktree note;
  note.project = worktree.project;
  note.run_id = worktree.run_id;
  const std::string id = to_string(worktree.run_id);
  const auto found = worktree_below(worktree.repository, runs_directory_ / id);
  if (!found) {  // such as that of a repository whose disk isn't mounted
    note.path = runs_directory_ / id;
    note.reason = found.error();
    return note;
  }
  note.path = found->path;
  if (note.reason = elsewhere(worktree.run_id, found->path); !note.reason.empty()) {
    if (note.path.empty()) note.path = runs_directory_ / id;
    return note;
  }
  if (note.path.empty()) {
    const fs::path workspace = runs_directory_ / id / "workspace";
    if (is_empty_or_missing(workspace)) {
      note.removed = true;  // the run has no worktree, or a process before this one removed it
      note.rescue_ref = existing_rescue_ref(worktree.repository, id);
      return note;
    }
    note.path = workspace;  // git's record of it is gone, but not what is in it
  }
  RemovalRequest request;
  request.repository = worktree.repository;
  request.path = note.path;
  request.run_id = id;
  request.pins = pins_of(id);
  request.branch = found->branch;
  request.keeps_branch_work = is_handed_on;
  const RemovalOutcome outcome = signalbox::remove_worktree(request);
  note.removed = outcome.result != Removal::left;
  note.rescue_ref = outcome.rescue_ref;
  note.reason = outcome.reason;
  note.path = with_replacements(note.path);
  return note;
}

// The repository, which may be away for a moment, isn't asked: the station that works on says so.
bool GitBoardFiles::has_worktree(const CardWorktree& worktree) {
  std::error_code error;
  return fs::exists(runs_directory_ / to_string(worktree.run_id) / "workspace" / ".git", error);
}

tl::expected<std::set<std::string>, std::string> GitBoardFiles::runs_with_worktrees(
    const fs::path& repository) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max);
  return list_runs_with_worktrees(repository, runs_directory_);
}

tl::expected<std::vector<NoteWorktree>, std::string> GitBoardFiles::remove_orphans(
    const std::string& project, const fs::path& repository, const std::set<std::string>& run_ids) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max);
  std::vector<NoteWorktree> notes;
  std::set<std::string> idle;
  for (const std::string& id : run_ids) {
    OrphanWorktree orphan;
    orphan.path = runs_directory_ / id;
    orphan.run_id = id;
    const auto run_id = parse_uuid(id);
    if (has_job_(id)) {
      orphan.left_because = "a job of its run is under way";
    } else if (run_id) {
      orphan.left_because = elsewhere(*run_id, TRY(worktree_below(repository, orphan.path)).path);
    }
    if (orphan.left_because.empty()) {
      idle.insert(id);
    } else {
      notes.push_back(note_of(project, {orphan, {Removal::left, {}, {}}}));
    }
  }
  const auto outcomes = TRY(signalbox::remove_orphans(repository, runs_directory_, idle));
  for (const OrphanOutcome& each : outcomes) notes.push_back(note_of(project, each));
  return notes;
}

}  // namespace signalbox
