#include "server/git/unsaved_work.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "server/git/check_scratch.h"
#include "server/git/git_command.h"
#include "server/git/git_identity.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Bound of the output of `git status`. A worktree with more changed files needs a person.
constexpr std::size_t status_bytes_max = 256UL * 1024 * 1024;

GitOutcome git_here(const fs::path& path, std::vector<std::string> arguments,
                    GitOptions options = {}) {
  options.timeout_ms = limits::removal_git_ms_max;
  return git(path, std::move(arguments), options);
}

// Returns the worktree's own git directory; empty where there is none.
fs::path own_git_directory(const fs::path& path) {
  return git_here(path, {"rev-parse", "--absolute-git-dir"}).line();
}

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

std::string commit_at(const fs::path& path, const std::string& name) {
  return git_here(path, {"rev-parse", "--verify", "--quiet", name}).line();
}

// Makes the commits of one rescue on an index of its own: children of a killed process may still be
// changing the worktree's index. The rescue index is removed with the worktree.
class Rescue {
 public:
  Rescue(fs::path path, const fs::path& git_directory, std::string run_id, std::string branch)
      : path_(std::move(path)),
        own_index_(git_directory / "index"),
        index_(git_directory / ("signalbox-rescue-index-" + std::to_string(::getpid()))),
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
    const GitOutcome added = run({"add", "--all", "--", ".", exclude_check_scratch});
    if (!added.ok) return tl::unexpected("git add: " + added.message);
    const GitOutcome tree = run({"write-tree"});
    if (!tree.ok) return tl::unexpected("git write-tree: " + tree.message);

    const std::string head = commit_at(path_, "HEAD^{commit}");
    const std::string before = commit_at(path_, ref_ + "^{commit}");
    if (!before.empty() && commit_at(path_, ref_ + "^{tree}") == tree.line() &&
        commit_at(path_, ref_ + "^1") == head) {
      return ref_;  // an earlier call kept the same state
    }
    std::vector<std::string> parents;
    if (!head.empty()) parents.push_back(head);
    if (!staged.empty() && staged != tree.line() && staged != commit_at(path_, "HEAD^{tree}")) {
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
  GitOutcome run(std::vector<std::string> arguments) const {
    // The caller removes the only other copy next, so that the objects must be durable.
    const std::vector<std::string> settings{
        "-c", "core.hooksPath=/dev/null", "-c", "core.fsync=all", "-c", "core.safecrlf=false"};
    arguments.insert(arguments.begin(), settings.begin(), settings.end());
    GitOptions options;
    options.environment = {"GIT_INDEX_FILE=" + index_.string()};
    return git_here(path_, std::move(arguments), options);
  }
  [[nodiscard]] tl::expected<std::string, std::string> commit(
      const std::string& tree, const std::vector<std::string>& parents,
      const std::string& what) const {
    std::vector<std::string> arguments = git_identity(path_);
    arguments.insert(arguments.end(), {"commit-tree", tree});
    for (const std::string& parent : parents) arguments.insert(arguments.end(), {"-p", parent});
    arguments.insert(arguments.end(), {"-m", what + " run " + run_id_, "-m",
                                       "Kept when its worktree " + path_.string() +
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

  fs::path path_;
  fs::path own_index_;
  fs::path index_;
  std::string run_id_;
  std::string branch_;
  std::string ref_;
};

}  // namespace

std::string rescue_ref_of(const std::string& run_id) { return "refs/signalbox/rescue/" + run_id; }

tl::expected<UnsavedWork, std::string> find_unsaved_work(const fs::path& path,
                                                         bool merges_can_be_remade) {
  const fs::path directory = own_git_directory(path);
  if (directory.empty()) return tl::unexpected(path.string() + " is not a worktree");
  const fs::path listing = directory / "signalbox-status";
  GitOptions to_file;
  to_file.output_file = listing;
  const GitOutcome status =
      git_here(path,
               {"--no-optional-locks", "status", "--porcelain=v2", "-z", "--untracked-files=all",
                "--ignore-submodules=none", "--", ".", exclude_check_scratch},
               to_file);
  const auto text = read_regular_file(listing, status_bytes_max);
  std::error_code ignored;
  fs::remove(listing, ignored);
  if (!status.ok) return tl::unexpected("git status: " + status.message);
  if (!text) return tl::unexpected(text.error().message);

  UnsavedWork work = parse_status(*text);
  // an unborn branch has no commits to lose
  if (commit_at(path, "HEAD^{commit}").empty()) return work;
  std::vector<std::string> arguments{"rev-list", "--max-count=1", "HEAD", "--not", "--glob=refs/*"};
  if (merges_can_be_remade) arguments.insert(arguments.begin() + 1, "--no-merges");
  const GitOutcome unnamed = git_here(path, std::move(arguments));
  if (!unnamed.ok) return tl::unexpected("git rev-list: " + unnamed.message);
  work.unnamed_commits = !unnamed.line().empty();
  return work;
}

tl::expected<std::string, std::string> rescue_work(const fs::path& path, const std::string& run_id,
                                                   const std::string& branch) {
  const fs::path directory = own_git_directory(path);
  if (directory.empty()) return tl::unexpected(path.string() + " is not a worktree");
  return Rescue(path, directory, run_id, branch).keep();
}

}  // namespace signalbox
