#include "server/git/nested_work.h"

#include <algorithm>
#include <string_view>
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
#include "server/limits.h"

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

// Returns whether the repository has commits that no remote of it has. `known_commit` is one that
// others have, or empty. Where the service has recorded the tags of the owner, others don't count;
// elsewhere nobody knows which of them the agent has made.
tl::expected<bool, std::string> has_unpublished_commits(const PinnedRepository& pinned,
                                                        const std::string& known_commit) {
  const auto has = [&pinned](const std::string& name) {
    return pinned.in_repository(commit_query(name)).ok;
  };
  const bool knows_tags = has(submodule_tags_ref);
  std::vector<std::string> arguments{"rev-list", "--max-count=1", "--exclude=refs/remotes/*"};
  if (!knows_tags) arguments.emplace_back("--exclude=refs/tags/*");
  arguments.emplace_back("--all");
  if (has("HEAD")) arguments.emplace_back("HEAD");
  arguments.insert(arguments.end(), {"--not", "--remotes"});
  if (!knows_tags) arguments.emplace_back("--tags");
  if (!known_commit.empty() && has(known_commit)) arguments.push_back(known_commit);
  const GitOutcome own = pinned.in_repository(std::move(arguments));
  if (!own.ok) return tl::unexpected("git rev-list: " + own.message);
  return !own.line().empty();
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
      return tl::unexpected("too many directories of submodules are in " + directory.string());
    }
    const bool is_one = is_git_directory(path);
    if (is_one) found.push_back(path);
    // A submodule's name may have slashes.
    TRY(add_git_directories(is_one ? path / "modules" : path, depth + 1, found));
  }
  if (error) return tl::unexpected("can't list " + directory.string() + ": " + error.message());
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
  const bool counts = untracked_ == UntrackedFiles::count;
  if (counts ? status.changed : status.tracked_changed) {
    work.what = "has changes that aren't committed";
    if (!there.environment.empty()) {
      work.what += ", maybe in files that are marked as unchanged (`git -C " +
                   shell_word(path.string()) + " ls-files -v` shows which)";
    }
    return work;
  }
  if (TRY(has_unpublished_commits(pinned, known_commit))) {
    work.what = unpublished;
    return work;
  }
  const auto links = TRY(submodule_links(path, there, directory));
  for (const std::string& link : links) {
    if (counts && has_files_in_place_of_submodule(path, link)) {
      work.what = "has files at " + link + ", the place of a submodule that isn't checked out";
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
    if (!inner) return tl::unexpected("submodule " + link + ": " + inner.error());
    if (!inner->what.empty()) {
      work.what = "has a submodule " + link + ", which " + inner->what;
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
    if (!TRY(has_unpublished_commits(pinned, {}))) continue;
    return "submodule " + each.lexically_relative(modules).string() +
           ", which isn't checked out, " + unpublished +
           " (`git --git-dir=" + shell_word(each.string()) +
           " --work-tree=/ log --all` shows them)";
  }
  return std::string();
}

tl::expected<OwnWork, std::string> own_work_of(const fs::path& path, const fs::path& scratch,
                                               UntrackedFiles untracked) {
  return NestedWork(scratch, untracked).of(path);
}

}  // namespace signalbox
