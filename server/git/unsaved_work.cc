#include "server/git/unsaved_work.h"

#include <unistd.h>

#include <set>
#include <system_error>
#include <vector>

#include "domain/try.h"
#include "server/git/git_identity.h"
#include "server/git/git_listing.h"
#include "server/git/hidden_files.h"
#include "server/git/missing_objects.h"
#include "server/git/nested_work.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/ref_lock.h"
#include "server/git/submodule_links.h"
#include "server/git/unlisted_repositories.h"
#include "server/git/worktree_list.h"
#include "server/git/worktree_status.h"
#include "server/git/worktree_tips.h"
#include "server/text/printable_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// It lists all files in conflict, and what to do about them comes after it.
constexpr std::size_t write_tree_message_bytes_max = 200;

// A worktree and where git finds it; without a work tree, its files are gone.
struct Here {
  fs::path path;
  GitPlace place;

  [[nodiscard]] bool has_files() const { return !place.work_tree.empty(); }
  // The directory in which git is run.
  [[nodiscard]] fs::path directory() const { return has_files() ? path : scratch(); }
  [[nodiscard]] GitOptions options() const {
    GitOptions options;
    options.timeout_ms = limits::removal_git_ms_max;
    options.place = place;
    if (has_files()) options.settings = revealing_settings(path);
    return options;
  }
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(directory(), std::move(arguments), options());
  }
  // Returns the id of what the name leads to; an empty text if there is nothing. Error: git's
  // message, if it can't be asked.
  [[nodiscard]] tl::expected<std::string, std::string> object_at(const std::string& name) const {
    const GitOutcome found = run({"rev-parse", "--verify", "--quiet", "--end-of-options", name});
    if (found.ok) return found.line();
    if (found.exit_code == 1 && !found.timed_out) return std::string();
    return tl::unexpected("git rev-parse: " + found.message);
  }
  // The directory of the pinned repository, for temporary files.
  [[nodiscard]] fs::path scratch() const { return place.common_directory.parent_path(); }
};

void set_obstacle(UnsavedWork& work, const std::string& why) {
  work.uncommitted = true;
  if (work.cannot_be_kept.empty()) work.cannot_be_kept = why;
}

// Adds what lies at a submodule's path and isn't in the worktree's commits. A repository that
// .gitmodules doesn't name can't be cloned again, so it counts as a whole.
tl::expected<void, std::string> add_submodule_work(const Here& here, NestedWork& nested,
                                                   const std::string& link, bool declared,
                                                   UnsavedWork& work) {
  const fs::path path = here.path / link;
  if (has_files_in_place_of_submodule(here.path, link)) work.uncommitted = true;
  if (!is_there(path / ".git")) return {};
  if (!declared) {
    set_obstacle(work, printable(link) + " is a git repository of its own");
    return {};
  }
  const auto own_work = nested.of(path);
  if (!own_work) return tl::unexpected("submodule " + printable(link) + ": " + own_work.error());
  if (!own_work->what.empty())
    set_obstacle(work, "submodule " + printable(link) + " " + own_work->what);
  for (const std::string& name : own_work->ignored) work.ignored.push_back(link + "/" + name);
  return {};
}

// Returns whether the commits, as far as they are there, have one that no ref reaches but those
// that go with the worktree. With `merges_can_be_remade`, merge commits don't count.
tl::expected<bool, std::string> has_unnamed(const Here& here, const std::vector<std::string>& tips,
                                            bool merges_can_be_remade,
                                            const std::string& uncounted_refs) {
  if (tips.empty()) return false;
  std::vector<std::string> arguments{"rev-list", "--max-count=1", "--ignore-missing"};
  if (merges_can_be_remade) arguments.emplace_back("--no-merges");
  arguments.insert(arguments.end(), tips.begin(), tips.end());
  arguments.emplace_back("--not");
  if (!uncounted_refs.empty()) arguments.push_back("--exclude=" + uncounted_refs);
  for (const char* own : worktree_refs) arguments.push_back(std::string("--exclude=") + own);
  arguments.emplace_back("--glob=refs/*");
  const GitOutcome found = here.run(std::move(arguments));
  if (!found.ok) return tl::unexpected("git rev-list: " + found.message);
  return !found.line().empty();
}

// Returns those of the worktree's commits beside its HEAD that only it refers to.
tl::expected<std::vector<std::string>, std::string> unnamed_tips(const Here& here) {
  const auto tips = TRY(worktree_tips(here.directory(), here.options()));
  std::vector<std::string> unnamed;
  if (!TRY(has_unnamed(here, tips, /*merges_can_be_remade=*/false, {}))) return unnamed;
  for (const std::string& tip : tips) {
    if (TRY(here.object_at(tip + "^{commit}")).empty()) continue;  // gone
    if (TRY(has_unnamed(here, {tip}, false, {}))) unnamed.push_back(tip);
  }
  return unnamed;
}

// Returns whether the worktree's index has content that isn't in HEAD, or lacks some.
tl::expected<bool, std::string> has_staged(const Here& here) {
  if (!is_there(here.place.git_directory / "index")) return false;
  if (TRY(here.object_at("HEAD^{commit}")).empty()) {
    const GitOutcome listed = here.run({"ls-files", "--cached", "-z"});
    if (listed.ok) return !listed.output.empty();
    return tl::unexpected("git ls-files: " + listed.message);
  }
  const GitOutcome compared =
      here.run({"diff-index", "--cached", "--quiet", "--ita-invisible-in-index",
                "--ignore-submodules=none", "HEAD", "--"});
  if (compared.ok) return false;
  if (compared.exit_code == 1 && !compared.timed_out) return true;
  return tl::unexpected("git diff-index: " + compared.message);
}

// Makes the commits of one rescue on an index of its own: children of a killed process may still be
// changing the worktree's index. The rescue index is removed with the worktree.
class Rescue {
 public:
  Rescue(Here here, std::string run_id, std::string branch)
      : here_(std::move(here)),
        own_index_(here_.place.git_directory / "index"),
        index_(here_.place.git_directory /
               ("signalbox-rescue-index-" + std::to_string(::getpid()))),
        run_id_(std::move(run_id)),
        branch_(std::move(branch)),
        ref_(rescue_ref_of(run_id_)) {}
  ~Rescue() { remove_index(); }
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  tl::expected<std::string, std::string> keep() {
    remove_index();
    TRY(copy_index_if_there(own_index_, index_));
    TRY(mend_index(here_.path, options(), index_));
    // Empty during an unfinished merge: then the staged content is in the files, too.
    const std::string staged = TRY(write_tree()).line();
    if (auto revealed = reveal_hidden_files(here_.path, options(), here_.scratch()); !revealed) {
      return tl::unexpected(revealed.error());
    }
    const auto added = add_changes(here_.path, options(), here_.scratch());
    if (!added) return tl::unexpected("git add: " + added.error());
    const GitOutcome tree = TRY(write_tree());
    if (!tree.ok) return tl::unexpected("git write-tree: " + tree.message);
    return keep_tree(tree.line(), staged, "Uncommitted work of");
  }

  // Keeps the commits, and what was staged: the files are gone.
  tl::expected<std::string, std::string> keep_recorded() {
    if (TRY(has_staged(here_))) {
      remove_index();
      TRY(copy_index(own_index_, index_));
      const GitOutcome staged = TRY(write_tree());
      if (!staged.ok) {
        return tl::unexpected("git write-tree: " +
                              shortened(staged.message, write_tree_message_bytes_max));
      }
      return keep_tree(staged.line(), {}, "What was staged in");
    }
    std::string newest = TRY(here_.object_at("HEAD^{commit}"));
    if (newest.empty()) {
      const auto tips = TRY(unnamed_tips(here_));
      if (tips.empty()) return tl::unexpected<std::string>("its commits are gone");
      newest = tips.front();
    }
    const std::string tree = TRY(here_.object_at(newest + "^{tree}"));
    return keep_tree(tree, {}, "Commits of");
  }

 private:
  tl::expected<GitOutcome, std::string> write_tree() {
    return signalbox::write_tree(here_.directory(), options(), here_.scratch(), lost_);
  }
  // Keeps the tree, the commits, and the tree that was staged, if there is one.
  tl::expected<std::string, std::string> keep_tree(const std::string& tree,
                                                   const std::string& staged,
                                                   const std::string& what) {
    const std::string head = TRY(here_.object_at("HEAD^{commit}"));
    const std::string before = TRY(here_.object_at(ref_ + "^{commit}"));
    auto tips = TRY(unnamed_tips(here_));
    std::erase(tips, head);
    if (!before.empty() && TRY(here_.object_at(ref_ + "^{tree}")) == tree &&
        TRY(here_.object_at(ref_ + "^1")) == head && tips.empty()) {
      return ref_;  // an earlier call kept the same state
    }
    std::vector<std::string> parents;
    if (!head.empty()) parents.push_back(head);
    if (!staged.empty() && staged != tree && staged != TRY(here_.object_at("HEAD^{tree}"))) {
      const auto index = commit(staged, parents, "What was staged in");
      if (!index) return index;
      parents.push_back(*index);
    }
    if (!before.empty()) parents.push_back(before);
    parents.insert(parents.end(), tips.begin(), tips.end());
    const auto kept = commit(tree, parents, what);
    if (!kept) return kept;
    // Updates the ref only if it still has the value read above; an empty `before` requires that it
    // doesn't exist.
    // Where a run's worktree is, only its removals make the ref, and hold the repository's lock.
    GitOptions holding = options();
    holding.holds_lock = true;
    remove_stale_lock(here_.place.common_directory, ref_);
    const GitOutcome named =
        git(here_.directory(), {"update-ref", "--no-deref", ref_, *kept, before}, holding);
    if (!named.ok) return tl::unexpected("git update-ref: " + named.message);
    return ref_;
  }

  [[nodiscard]] GitOptions options() const {
    GitOptions options = here_.options();
    options.place->hooks = "/dev/null";
    // The caller removes the only other copy next, so that the objects must be durable.
    options.environment = {"GIT_INDEX_FILE=" + index_.string()};
    options.settings.insert(options.settings.end(), {"core.fsync=all", "core.safecrlf=false"});
    return options;
  }
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(here_.directory(), std::move(arguments), options());
  }
  [[nodiscard]] tl::expected<std::string, std::string> commit(
      const std::string& tree, const std::vector<std::string>& parents,
      const std::string& what) const {
    std::vector<std::string> arguments = git_identity(here_.directory(), here_.options());
    arguments.insert(arguments.end(), {"commit-tree", tree});
    for (const std::string& parent : parents) arguments.insert(arguments.end(), {"-p", parent});
    arguments.insert(arguments.end(), {"-m", what + " run " + run_id_, "-m",
                                       "Kept when its worktree " + here_.path.string() +
                                           " was removed; its branch was " + branch_ + ".",
                                       "-m", "Signalbox-Run: " + run_id_});
    if (!lost_.empty()) arguments.insert(arguments.end() - 2, {"-m", lost_content_note(lost_)});
    const GitOutcome made = run(std::move(arguments));
    if (!made.ok) return tl::unexpected("git commit-tree: " + made.message);
    return made.line();
  }
  void remove_index() const {
    std::error_code ignored;
    fs::remove(index_, ignored);
    fs::remove(index_.string() + ".lock", ignored);
  }

  Here here_;
  fs::path own_index_;
  fs::path index_;
  std::string run_id_;
  std::string branch_;
  std::string ref_;
  std::set<std::string> lost_;  // files whose staged content is gone
};

// Returns whether HEAD, or what else only the worktree refers to, has commits that no ref reaches.
tl::expected<bool, std::string> has_unnamed_commits(const Here& here, bool merges_can_be_remade,
                                                    const std::string& uncounted_refs) {
  // A merge's worktree is no agent's: nobody leaves commits there.
  std::vector<std::string> tips;
  if (!merges_can_be_remade) tips = TRY(worktree_tips(here.directory(), here.options()));
  // an unborn branch has no commits to lose
  if (auto head = TRY(here.object_at("HEAD^{commit}")); !head.empty()) tips.push_back(head);
  return has_unnamed(here, tips, merges_can_be_remade, uncounted_refs);
}

// Returns what is in the worktree's own files and commits.
tl::expected<UnsavedWork, std::string> work_in(const Here& here, bool merges_can_be_remade,
                                               const std::string& uncounted_refs) {
  auto status = read_worktree_status(here.path, here.options(), here.scratch(), IgnoredFiles::list);
  if (!status) return tl::unexpected("git status: " + status.error());
  UnsavedWork work;
  work.uncommitted = status->changed;
  work.ignored = std::move(status->ignored);
  if (!status->repositories.empty()) {
    set_obstacle(work, printable(status->repositories.front()) + " is a git repository of its own");
  }
  if (status->submodule_changed) set_obstacle(work, "a submodule was changed");
  const auto hidden = TRY(hidden_files(here.path, here.options(), here.scratch()));
  if (!hidden.empty()) work.uncommitted = true;  // git doesn't say whether they were changed
  if (const auto borrowed = TRY(borrowed_from_worktree(here.path, here.place)); !borrowed.empty()) {
    set_obstacle(work, "the repository borrows objects from " + printable(borrowed.string()) +
                           " (objects/info/alternates)");
  }

  NestedWork nested(here.scratch(), Leftovers::count);
  const auto links = TRY(submodule_links(here.path, here.options(), here.scratch()));
  std::vector<std::string> listed = links;
  listed.insert(listed.end(), status->repositories.begin(), status->repositories.end());
  listed.insert(listed.end(), work.ignored.begin(), work.ignored.end());
  const auto unlisted = TRY(find_unlisted(here.path, listed));
  if (!unlisted.repositories.empty()) {
    set_obstacle(work, printable(unlisted.repositories.front()) + " has a .git of its own");
  }
  if (!unlisted.unreadable.empty()) {
    set_obstacle(work, printable(unlisted.unreadable.front()) + " can't be read");
  }
  const auto declared = links.empty() ? std::vector<DeclaredSubmodule>()
                                      : declared_submodules(here.path, here.options());
  for (const std::string& link : links) {
    TRY(add_submodule_work(here, nested, link, is_declared(declared, link), work));
  }
  const auto removed = TRY(nested.of_modules(here.place.git_directory / "modules"));
  if (!removed.empty()) set_obstacle(work, removed);

  work.unnamed_commits = TRY(has_unnamed_commits(here, merges_can_be_remade, uncounted_refs));
  return work;
}

// Adds further worktrees of the repository that were made inside this one and have work of their
// own. Git lists them also where it ignores their directory.
tl::expected<void, std::string> add_worktrees_inside(const Here& here, UnsavedWork& work) {
  const auto listed = git_listing(here.path, {"worktree", "list", "--porcelain", "-z"},
                                  here.options(), here.scratch());
  if (!listed) return tl::unexpected("git worktree list: " + listed.error());
  const fs::path top = resolved_path(here.path);
  for (const ListedWorktree& each : parse_worktree_list(*listed)) {
    const fs::path relative = resolved_path(each.path).lexically_relative(top);
    const bool is_inside = !relative.empty() && relative != "." && *relative.begin() != "..";
    if (!is_inside || !is_there(each.path)) continue;
    const fs::path common = resolved_path(here.place.common_directory / "worktrees").parent_path();
    Here inner{each.path, here.place};
    inner.place.work_tree = each.path;
    auto own = find_worktree_directory(each.path, common);
    if (own) inner.place.git_directory = *own;
    const auto found = own ? work_in(inner, /*merges_can_be_remade=*/false, {})
                           : tl::unexpected(std::move(own).error());
    if (found && !found->any()) continue;
    set_obstacle(work,
                 "the worktree " + printable(relative.string()) + " in it " +
                     (found ? "has work of its own" : "can't be looked at: " + found.error()));
  }
  return {};
}

}  // namespace

std::string rescue_ref_of(const std::string& run_id) { return "refs/signalbox/rescue/" + run_id; }

std::string existing_rescue_ref(const fs::path& repository, const std::string& run_id) {
  GitOptions options;
  options.timeout_ms = limits::removal_git_ms_max;
  std::string ref = rescue_ref_of(run_id);
  const bool exists = git(repository, {"show-ref", "--verify", "--quiet", "--", ref}, options).ok;
  return exists ? ref : std::string();
}

tl::expected<UnsavedWork, std::string> find_unsaved_work(const fs::path& path,
                                                         const GitPlace& place,
                                                         bool merges_can_be_remade,
                                                         const std::string& uncounted_refs) {
  const Here here{path, place};
  auto work = TRY(work_in(here, merges_can_be_remade, uncounted_refs));
  TRY(add_worktrees_inside(here, work));
  return work;
}

tl::expected<UnsavedWork, std::string> find_recorded_work(const fs::path& path,
                                                          const GitPlace& record,
                                                          bool merges_can_be_remade,
                                                          const std::string& uncounted_refs,
                                                          bool files_were_kept) {
  const Here here{path, record};
  UnsavedWork work;
  work.unnamed_commits = TRY(has_unnamed_commits(here, merges_can_be_remade, uncounted_refs));
  if (files_were_kept) return work;
  if (!merges_can_be_remade) work.uncommitted = TRY(has_staged(here));
  const auto removed = TRY(
      NestedWork(here.scratch(), Leftovers::count).of_modules(record.git_directory / "modules"));
  if (!removed.empty()) set_obstacle(work, removed);
  return work;
}

tl::expected<std::string, std::string> rescue_work(const fs::path& path, const GitPlace& place,
                                                   const std::string& run_id,
                                                   const std::string& branch) {
  Rescue rescue({path, place}, run_id, branch);
  return place.work_tree.empty() ? rescue.keep_recorded() : rescue.keep();
}

}  // namespace signalbox
