#include "server/git/unsaved_work.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/git/git_identity.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/submodule_links.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Bound of the output of `git status`. A worktree with more changed files needs a person.
constexpr std::size_t status_bytes_max = 256UL * 1024 * 1024;

// A worktree and where git finds it.
struct Here {
  fs::path path;
  GitPlace place;

  [[nodiscard]] GitOptions options() const {
    GitOptions options;
    options.timeout_ms = limits::removal_git_ms_max;
    options.place = place;
    return options;
  }
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(path, std::move(arguments), options());
  }
  [[nodiscard]] std::string commit_at(const std::string& name) const {
    return run({"rev-parse", "--verify", "--quiet", "--end-of-options", name}).line();
  }
  // The directory of the pinned repository, for temporary files.
  [[nodiscard]] fs::path scratch() const { return place.common_directory.parent_path(); }
};

// Parses the output of `git status --porcelain=v2 -z` (git-status(1)).
UnsavedWork parse_status(std::string_view status) {
  UnsavedWork work;
  const auto set_obstacle = [&work](const std::string& why) {
    if (work.cannot_be_kept.empty()) work.cannot_be_kept = why;
  };
  const auto next_text = [&status] {
    const std::string_view text = status.substr(0, status.find('\0'));
    status.remove_prefix(std::min(text.size() + 1, status.size()));
    return text;
  };
  while (!status.empty()) {
    const std::string_view entry = next_text();
    if (entry.size() < 3) continue;
    work.uncommitted = true;
    // With --untracked-files=all, git lists files one by one; an entry that is a directory is
    // therefore a repository.
    if (entry.front() == '?' && entry.ends_with('/')) {
      set_obstacle(std::string(entry.substr(2)) + " is a git repository of its own");
    }
    // "1 XY sub …": for a submodule, `sub` begins with S. Its commits are lost with the worktree.
    if (entry.front() != '?' && entry.size() > 5 && entry[5] == 'S') {
      set_obstacle("a submodule was changed");
    }
    if (entry.front() == '2') next_text();  // skip the earlier name of a renamed file
  }
  return work;
}

// Adds what a submodule's directory holds that its commit in the worktree doesn't. The submodule is
// pinned for that without any program that its configuration names.
tl::expected<void, std::string> add_submodule_work(const Here& here, const std::string& link,
                                                   UnsavedWork& work) {
  const fs::path path = here.path / link;
  if (!is_there(path / ".git")) return {};
  const auto pinned =
      PinnedRepository::pin(here.scratch() / "submodule", path, ConfigTrust::nobodys);
  if (!pinned) return tl::unexpected("submodule " + link + ": " + pinned.error());
  const GitOutcome status =
      pinned->in_worktree_of_its_own({"--no-optional-locks", "status", "--porcelain",
                                      "--untracked-files=all", "--ignore-submodules=dirty"});
  if (!status.ok) return tl::unexpected("submodule " + link + ": git status: " + status.message);
  if (status.output.empty()) return {};
  work.uncommitted = true;
  if (work.cannot_be_kept.empty()) work.cannot_be_kept = "a submodule was changed";
  return {};
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
    std::error_code error;
    const bool has_index = fs::exists(own_index_, error);
    if (has_index) fs::copy_file(own_index_, index_, error);
    if (has_index && error) return tl::unexpected("can't copy the index: " + error.message());
    // Empty during an unfinished merge: then the staged content is in the files, too.
    const std::string staged = run({"write-tree"}).line();
    const auto added = add_changes(here_.path, options(), here_.scratch());
    if (!added) return tl::unexpected("git add: " + added.error());
    const GitOutcome tree = run({"write-tree"});
    if (!tree.ok) return tl::unexpected("git write-tree: " + tree.message);

    const std::string head = here_.commit_at("HEAD^{commit}");
    const std::string before = here_.commit_at(ref_ + "^{commit}");
    if (!before.empty() && here_.commit_at(ref_ + "^{tree}") == tree.line() &&
        here_.commit_at(ref_ + "^1") == head) {
      return ref_;  // an earlier call kept the same state
    }
    std::vector<std::string> parents;
    if (!head.empty()) parents.push_back(head);
    if (!staged.empty() && staged != tree.line() && staged != here_.commit_at("HEAD^{tree}")) {
      const auto index = commit(staged, parents, "What was staged in");
      if (!index) return index;
      parents.push_back(*index);
    }
    if (!before.empty()) parents.push_back(before);
    const auto kept = commit(tree.line(), parents, "Uncommitted work of");
    if (!kept) return kept;
    // Updates the ref only if it still has the value read above; an empty `before` requires that it
    // doesn't exist.
    const GitOutcome named = run({"update-ref", ref_, *kept, before});
    if (!named.ok) return tl::unexpected("git update-ref: " + named.message);
    return ref_;
  }

 private:
  [[nodiscard]] GitOptions options() const {
    GitOptions options = here_.options();
    options.place->hooks = "/dev/null";
    // The caller removes the only other copy next, so that the objects must be durable.
    options.environment = {"GIT_INDEX_FILE=" + index_.string()};
    options.settings = {"core.fsync=all", "core.safecrlf=false"};
    return options;
  }
  [[nodiscard]] GitOutcome run(std::vector<std::string> arguments) const {
    return git(here_.path, std::move(arguments), options());
  }
  [[nodiscard]] tl::expected<std::string, std::string> commit(
      const std::string& tree, const std::vector<std::string>& parents,
      const std::string& what) const {
    std::vector<std::string> arguments = git_identity(here_.path, here_.options());
    arguments.insert(arguments.end(), {"commit-tree", tree});
    for (const std::string& parent : parents) arguments.insert(arguments.end(), {"-p", parent});
    arguments.insert(arguments.end(), {"-m", what + " run " + run_id_, "-m",
                                       "Kept when its worktree " + here_.path.string() +
                                           " was removed; its branch was " + branch_ + ".",
                                       "-m", "Signalbox-Run: " + run_id_});
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
};

}  // namespace

std::string rescue_ref_of(const std::string& run_id) { return "refs/signalbox/rescue/" + run_id; }

tl::expected<UnsavedWork, std::string> find_unsaved_work(const fs::path& path,
                                                         const GitPlace& place,
                                                         bool merges_can_be_remade) {
  const Here here{path, place};
  const fs::path listing = place.git_directory / "signalbox-status";
  GitOptions to_file = here.options();
  to_file.output_file = listing;
  const GitOutcome status =
      git(path,
          {"--no-optional-locks", "status", "--porcelain=v2", "-z", "--untracked-files=all",
           "--ignore-submodules=dirty", "--", ".", exclude_check_scratch},
          to_file);
  const auto text = read_regular_file(listing, status_bytes_max);
  std::error_code ignored;
  fs::remove(listing, ignored);
  if (!status.ok) return tl::unexpected("git status: " + status.message);
  if (!text) return tl::unexpected(text.error().message);

  UnsavedWork work = parse_status(*text);
  const auto links = TRY(submodule_links(path, here.options(), here.scratch()));
  for (const std::string& link : links) TRY(add_submodule_work(here, link, work));
  // an unborn branch has no commits to lose
  if (here.commit_at("HEAD^{commit}").empty()) return work;
  std::vector<std::string> arguments{"rev-list", "--max-count=1", "HEAD", "--not", "--glob=refs/*"};
  if (merges_can_be_remade) arguments.insert(arguments.begin() + 1, "--no-merges");
  const GitOutcome unnamed = here.run(std::move(arguments));
  if (!unnamed.ok) return tl::unexpected("git rev-list: " + unnamed.message);
  work.unnamed_commits = !unnamed.line().empty();
  return work;
}

tl::expected<std::string, std::string> rescue_work(const fs::path& path, const GitPlace& place,
                                                   const std::string& run_id,
                                                   const std::string& branch) {
  return Rescue({path, place}, run_id, branch).keep();
}

}  // namespace signalbox
