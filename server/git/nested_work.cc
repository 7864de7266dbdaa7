#include "server/git/nested_work.h"

#include <system_error>
#include <utility>

#include "domain/refusals.h"
#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/git/git_names.h"
#include "server/git/hidden_files.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/submodule_links.h"
#include "server/git/worktree_status.h"
#include "server/git/worktree_tips.h"
#include "server/limits.h"
#include "server/text/printable_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* unpublished = "has commits that no remote of it has";

// Returns the options with a copy of the index in `directory` whose files aren't marked as
// unchanged, so that git compares them all; the same options if none is marked. The repository's
// own index stays as it is.
tl::expected<GitOptions, std::string> without_marks(const fs::path& path, GitOptions options,
                                                    const fs::path& directory) {
  const auto hidden = TRY(hidden_files(path, options, directory));
  if (hidden.empty()) return options;
  const fs::path copy = directory / "index";
  TRY(copy_index(options.place->git_directory / "index", copy));
  options.environment.push_back("GIT_INDEX_FILE=" + copy.string());
  TRY(reveal_hidden_files(path, options, directory));
  return options;
}

// Returns whether the repository has the commit. Error: git's message, if it can't be asked.
tl::expected<bool, std::string> has_commit(const PinnedRepository& pinned,
                                           const std::string& name) {
  const GitOutcome found = pinned.in_repository(commit_query(name));
  if (found.ok) return true;
  if (found.exit_code == 1 && !found.timed_out) return false;
  return tl::unexpected("git rev-parse: " + found.message);
}

// Returns what the repository has of commits that no remote of it has, in the words of
// OwnWork::what; empty if there are none. `known_commit` is one that others have, or empty. Where
// the service has recorded the tags of the owner, others don't count; elsewhere nobody knows which
// of them the agent has made. `left` are commits that HEAD was moved away from, and `in_git` begins
// commands about them.
tl::expected<std::string, std::string> unpublished_commits(const PinnedRepository& pinned,
                                                           const std::string& known_commit,
                                                           const std::vector<std::string>& left,
                                                           const std::string& in_git) {
  const bool knows_tags = TRY(has_commit(pinned, submodule_tags_ref));
  std::vector<std::string> published{"--not", "--remotes"};
  if (!knows_tags) published.emplace_back("--tags");
  if (!known_commit.empty() && TRY(has_commit(pinned, known_commit))) {
    published.push_back(known_commit);
  }
  const auto has_others =
      [&](std::vector<std::string> arguments) -> tl::expected<bool, std::string> {
    arguments.insert(arguments.begin(), {"rev-list", "--max-count=1"});
    arguments.insert(arguments.end(), published.begin(), published.end());
    const GitOutcome found = pinned.in_repository(std::move(arguments));
    if (!found.ok) return tl::unexpected("git rev-list: " + found.message);
    return !found.line().empty();
  };
  std::vector<std::string> named{"--exclude=refs/remotes/*"};
  if (!knows_tags) named.emplace_back("--exclude=refs/tags/*");
  named.emplace_back("--all");
  if (TRY(has_commit(pinned, "HEAD"))) named.emplace_back("HEAD");
  if (TRY(has_others(std::move(named)))) return std::string(unpublished);
  if (left.empty()) return std::string();
  // Those that a garbage collection has removed are nobody's to lose any more.
  std::vector<std::string> of_log{"--ignore-missing"};
  of_log.insert(of_log.end(), left.begin(), left.end());
  if (!TRY(has_others(std::move(of_log)))) return std::string();
  std::string expire = "`" + in_git + " reflog expire --expire=now HEAD` gives them up)";
  // Its own files name some of them as well.
  if (has_unfinished_rebase(pinned.facts().git_directory)) {
    expire = "`" + in_git + " rebase --quit` and then " + expire;
  }
  return "has commits that HEAD was moved away from and that no remote of it has (`" + in_git +
         " reflog` shows them, " + expire;
}

bool is_git_directory(const fs::path& path) {
  std::error_code error;
  return is_there(path / "HEAD") && fs::is_directory(fs::symlink_status(path / "objects", error));
}

// Returns the git directories below `directory`, those of their own submodules included, without
// following links. Error: that there are too many, or that they are too deep.
tl::expected<void, std::string> add_git_directories(const fs::path& directory, std::size_t depth,
                                                    std::vector<fs::path>& found) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(directory, error))) return {};
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    const fs::path path = each->path();
    std::error_code ignored;
    if (!fs::is_directory(fs::symlink_status(path, ignored))) continue;
    if (depth == limits::submodule_directories_depth_max || found.size() > limits::submodules_max) {
      return tl::unexpected("too many directories of submodules are in " +
                            printable(directory.string()));
    }
    const bool is_one = is_git_directory(path);
    if (is_one) found.push_back(path);
    // A submodule's name may have slashes.
    TRY(add_git_directories(is_one ? path / "modules" : path, depth + 1, found));
  }
  if (error)
    return tl::unexpected("can't list " + printable(directory.string()) + ": " + error.message());
  return {};
}

}  // namespace

tl::expected<OwnWork, std::string> NestedWork::look(const fs::path& path, const fs::path& scratch,
                                                    const std::string& known_commit,
                                                    std::size_t depth) {
  const fs::path directory = scratch / "nested";
  const auto pinned = TRY(PinnedRepository::pin(directory, path, ConfigTrust::nobodys));
  seen_.insert(fs::path(pinned.facts().git_directory));
  GitOptions there;
  there.place = TRY(pinned.place_of_checkout(path));
  there = TRY(without_marks(path, std::move(there), directory));
  const auto listed =
      git_listing(path,
                  {"--no-optional-locks", "status", "--porcelain=v2", "-z", "--untracked-files=all",
                   "--ignore-submodules=dirty", "--ignored=matching"},
                  there, directory);
  if (!listed) return tl::unexpected("git status: " + listed.error());
  WorktreeStatus status = parse_worktree_status(*listed);
  OwnWork work;
  work.ignored = std::move(status.ignored);
  const bool counts = leftovers_ == Leftovers::count;
  if (counts ? status.changed : status.tracked_changed) {
    work.what = "has changes that aren't committed";
    if (!there.environment.empty()) {
      work.what += ", maybe in files that are marked as unchanged (`git -C " +
                   shell_word(path.string()) + " ls-files -v` shows which)";
    }
    return work;
  }
  const std::string in_git = "git -C " + shell_word(path.string());
  std::vector<std::string> left;
  if (counts) left = TRY(left_tips(pinned.facts().git_directory, in_git));
  work.what = TRY(unpublished_commits(pinned, known_commit, left, in_git));
  if (!work.what.empty()) return work;
  const auto links = TRY(submodule_links(path, there, directory));
  for (const std::string& link : links) {
    if (counts && has_files_in_place_of_submodule(path, link)) {
      work.what =
          "has files at " + printable(link) + ", the place of a submodule that isn't checked out";
      return work;
    }
    if (!is_there(path / link / ".git")) continue;
    if (depth == limits::submodule_depth_max) {
      return tl::unexpected<std::string>("submodules are nested deeper than " +
                                         std::to_string(limits::submodule_depth_max) + " levels");
    }
    // What the published commit links to can be had again.
    const std::string linked =
        git(path, {"rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD:" + link}, there)
            .line();
    auto inner =
        look(path / link, directory, is_object_id(linked) ? linked : std::string(), depth + 1);
    if (!inner) return tl::unexpected("submodule " + printable(link) + ": " + inner.error());
    if (!inner->what.empty()) {
      work.what = "has a submodule " + printable(link) + ", which " + inner->what;
      return work;
    }
    for (const std::string& name : inner->ignored) work.ignored.push_back(link + "/" + name);
  }
  return work;
}

tl::expected<std::string, std::string> NestedWork::of_modules(const fs::path& modules) {
  std::vector<fs::path> directories;
  TRY(add_git_directories(modules, 0, directories));
  for (const fs::path& each : directories) {
    if (seen_.contains(resolved_path(each))) continue;
    const auto pinned = TRY(PinnedRepository::pin_git_directory(scratch_ / "nested", each));
    const std::string in_git = "git --git-dir=" + shell_word(each.string()) + " --work-tree=/";
    const auto left = TRY(left_tips(each, in_git));
    std::string what = TRY(unpublished_commits(pinned, {}, left, in_git));
    if (what.empty()) continue;
    if (what == unpublished) what += " (`" + in_git + " log --all` shows them)";
    return "submodule " + printable(each.lexically_relative(modules).string()) +
           ", which isn't checked out, " + what;
  }
  return std::string();
}

tl::expected<OwnWork, std::string> own_work_of(const fs::path& path, const fs::path& scratch,
                                               Leftovers leftovers) {
  return NestedWork(scratch, leftovers).of(path);
}

}  // namespace signalbox
