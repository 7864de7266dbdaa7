#include "server/git/pinned_repository.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "server/git/fence_marker.h"
#include "server/git/git_listing.h"
#include "server/git/hook_copy.h"
#include "server/git/path_facts.h"
#include "server/git/tree_removal.h"
#include "server/git/worktree_list.h"
#include "server/platform/atomic_file.h"
#include "server/platform/stored_json.h"
#include "server/text/printable_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* record_name = "workspace.json";
constexpr std::size_t listed_config_bytes_max = 4 * 1024 * 1024;
constexpr std::size_t info_file_bytes_max = 4 * 1024 * 1024;
constexpr std::size_t pointer_bytes_max = 8 * 1024;
constexpr std::size_t shown_path_bytes_max = 200;

tl::unexpected<std::string> not_pinned(const std::string& why) {
  return tl::unexpected("the repository can't be pinned: " + why);
}

// Links the repository's data into the stand-in of its common directory. Git follows such links
// when it reads and when it replaces a file. A link to a file that isn't there yet is right for
// files; a directory that isn't there would be made in the stand-in.
tl::expected<void, std::string> link_data(const fs::path& from, const fs::path& stand_in) {
  static constexpr std::array<const char*, 5> entries{"objects", "refs", "packed-refs", "worktrees",
                                                      "rr-cache"};
  // A file `shallow` that is made later would cut off the history of a whole repository.
  static constexpr std::array<const char*, 4> if_there{"logs", "modules", "lfs", "shallow"};
  std::error_code error;
  const auto link = [&](const char* name) {
    if (!error) fs::create_symlink(from / name, stand_in / name, error);
  };
  for (const char* name : entries) link(name);
  for (const char* name : if_there) {
    if (is_there(from / name)) link(name);
  }
  if (error) return not_pinned(error.message());
  return {};
}

// Copies the attributes and the ignored patterns that the repository has beside its files.
tl::expected<void, std::string> copy_info(const fs::path& from, const fs::path& to) {
  if (auto made = make_directories(to); !made) return not_pinned(made.error().message);
  for (const char* name : {"attributes", "exclude"}) {
    auto text = read_regular_file(resolved_path(from / name), info_file_bytes_max);
    if (!text && text.error().kind == StoreError::Kind::not_found) continue;
    if (!text) return not_pinned(text.error().message);
    if (auto written = write_file_atomically(to / name, *text); !written) {
      return not_pinned(written.error().message);
    }
  }
  return {};
}

// git-lfs keeps objects below the common directory until it uploads them.
void make_lfs_directory(const fs::path& repository, const fs::path& common_directory) {
  if (git(repository, {"config", "--get", "filter.lfs.clean"}).line().empty()) return;
  std::error_code ignored;  // git-lfs says what it can't write
  fs::create_directory(common_directory / "lfs", ignored);
}

// Lists a configuration: that of the repository at `directory`, or the one that `source` names.
// `scratch` is a directory for a temporary file.
tl::expected<std::string, std::string> list_config(const fs::path& directory,
                                                   const fs::path& scratch,
                                                   const std::vector<std::string>& source = {
                                                       "--local"}) {
  std::vector<std::string> arguments{"config", "--includes", "--list", "-z"};
  arguments.insert(arguments.end(), source.begin(), source.end());
  auto listed = git_listing(directory, std::move(arguments), {}, scratch, listed_config_bytes_max);
  if (!listed) return not_pinned(listed.error());
  return *std::move(listed);
}

bool is_within(const fs::path& path, const fs::path& directory) {
  const fs::path relative = resolved_path(path).lexically_relative(resolved_path(directory));
  return !relative.empty() && *relative.begin() != "..";
}

// Returns the configured directory of hooks; empty if none is configured.
fs::path configured_hooks(const fs::path& repository) {
  GitOptions options;
  options.show_configured_hooks = true;
  return git(repository, {"config", "--type=path", "--get", "core.hooksPath"}, options).line();
}

// Reads a file that consists of one line; nullopt if it isn't a regular file of one line.
std::optional<std::string> only_line(const fs::path& path) {
  auto text = read_regular_file(path, pointer_bytes_max);
  if (!text) return std::nullopt;
  if (text->ends_with('\n')) text->pop_back();
  if (text->empty() || text->find('\n') != std::string::npos) return std::nullopt;
  return *std::move(text);
}

// Returns the path for a message: whoever wrote the file chose it.
std::string shown(const fs::path& path) {
  return shortened(printable(path.string()), shown_path_bytes_max);
}

bool is_real_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

}  // namespace

tl::expected<PinnedRepository, std::string> PinnedRepository::pin(const fs::path& directory,
                                                                  const fs::path& repository,
                                                                  ConfigTrust trust) {
  TRY(remove_tree(directory));
  const GitOutcome own = git(repository, {"rev-parse", "--absolute-git-dir"});
  const GitOutcome shared =
      git(repository, {"rev-parse", "--path-format=absolute", "--git-common-dir"});
  if (!own.ok || !shared.ok) return not_pinned(own.ok ? shared.message : own.message);
  WorkspaceRecord facts;
  facts.repository = repository.string();
  facts.git_directory = resolved_path(own.line()).string();
  facts.common_directory = resolved_path(shared.line()).string();

  PinnedRepository pinned(directory, std::move(facts));
  for (const fs::path& needed : {pinned.common(), pinned.copied_hooks()}) {
    if (auto made = make_directories(needed); !made) return not_pinned(made.error().message);
  }
  pinned.facts_.hooks = pinned.copied_hooks().string();
  if (trust == ConfigTrust::owners) {
    make_lfs_directory(repository, pinned.facts_.common_directory);
    const fs::path hooks = configured_hooks(repository);
    if (hooks.empty()) {
      TRY(copy_hooks(fs::path(pinned.facts_.common_directory) / "hooks", pinned.copied_hooks()));
    } else if (hooks.is_absolute() && !is_within(hooks, repository) &&
               !is_within(hooks, pinned.facts_.common_directory)) {
      pinned.facts_.hooks = hooks.string();
    } else if (hooks.is_absolute()) {
      TRY(copy_hooks(hooks, pinned.copied_hooks()));
    } else {
      pinned.facts_.hooks = pinned.place_of_hooks(hooks).string();
      if (auto made = make_directories(pinned.facts_.hooks); !made) {
        return not_pinned(made.error().message);
      }
      // No worktree has those that git ignores. If they are too many, its own have to do.
      (void)copy_hooks(repository / hooks, pinned.facts_.hooks);
    }
  }
  TRY(pinned.link_and_configure(TRY(list_config(repository, directory)), trust));
  return pinned;
}

// Git itself doesn't look into such a directory: it fails at the work tree that is gone.
tl::expected<PinnedRepository, std::string> PinnedRepository::pin_git_directory(
    const fs::path& directory, const fs::path& git_directory) {
  TRY(remove_tree(directory));
  WorkspaceRecord facts;
  facts.repository = git_directory.string();
  facts.git_directory = resolved_path(git_directory).string();
  facts.common_directory = facts.git_directory;
  PinnedRepository pinned(directory, std::move(facts));
  for (const fs::path& needed : {pinned.common(), pinned.copied_hooks()}) {
    if (auto made = make_directories(needed); !made) return not_pinned(made.error().message);
  }
  pinned.facts_.hooks = pinned.copied_hooks().string();
  const auto listed =
      TRY(list_config(directory, directory, {"--file", (git_directory / "config").string()}));
  TRY(pinned.link_and_configure(listed, ConfigTrust::nobodys));
  return pinned;
}

tl::expected<void, std::string> PinnedRepository::link_and_configure(const std::string& listed,
                                                                     ConfigTrust trust) {
  TRY(link_data(facts_.common_directory, common()));
  TRY(copy_info(fs::path(facts_.common_directory) / "info", common() / "info"));
  facts_.programs = programs_of_config(listed);
  const auto written = write_file_atomically(common() / "config",
                                             pinned_config_text(listed, trust, facts_.repository));
  if (!written) return not_pinned(written.error().message);
  return {};
}

std::optional<PinnedRepository> PinnedRepository::open_recorded(const fs::path& directory) {
  auto facts = read_stored_json<WorkspaceRecord>(directory / record_name);
  if (!facts) return std::nullopt;
  // Where the copied hooks were before the data directory was moved.
  const std::string copied = "/" + directory.filename().string() + "/hooks";
  const std::size_t at = facts->hooks.rfind(copied);
  if (at != std::string::npos) facts->hooks.replace(0, at + copied.size(), directory / "hooks");
  PinnedRepository pinned(directory, std::move(*facts));
  pinned.recorded_ = true;
  return pinned;
}

tl::expected<PinnedRepository, std::string> PinnedRepository::open(const fs::path& directory,
                                                                   const fs::path& repository) {
  if (auto known = open_recorded(directory)) return *std::move(known);
  return pin(directory, repository, ConfigTrust::nobodys);
}

tl::expected<void, std::string> PinnedRepository::make_for_service(const fs::path& to) const {
  if (auto made = make_directories(to); !made) return not_pinned(made.error().message);
  std::error_code error;
  for (fs::directory_iterator entry(common(), error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->is_symlink()) fs::copy_symlink(entry->path(), to / entry->path().filename(), error);
    if (error) break;
  }
  if (error) return not_pinned(error.message());
  TRY(copy_info(common() / "info", to / "info"));
  const auto listed = TRY(list_config(directory_, to, {"--file", (common() / "config").string()}));
  const auto written = write_file_atomically(
      to / "config", pinned_config_text(listed, ConfigTrust::nobodys, facts_.repository));
  if (!written) return not_pinned(written.error().message);
  return {};
}

tl::expected<PinnedRepository, std::string> PinnedRepository::for_service() const {
  PinnedRepository service = *this;
  service.common_name_ = "service";
  service.facts_.hooks = "/dev/null";
  if (is_there(service.common())) return service;
  // Others may ask at the same time: each makes its own, and one of them stays.
  static std::atomic<unsigned> made = 0;
  const fs::path own =
      directory_ / ("service.new-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  TRY(remove_tree(own));
  TRY(make_for_service(own));
  std::error_code error;
  fs::rename(own, service.common(), error);
  if (!error) return service;
  TRY(remove_tree(own));
  if (!is_there(service.common())) return not_pinned(error.message());
  return service;
}

tl::expected<void, std::string> PinnedRepository::pin_worktree_hooks(const fs::path& worktree) {
  const fs::path hooks = configured_hooks(facts_.repository);
  if (hooks.empty() || hooks.is_absolute()) return {};
  const fs::path place = place_of_hooks(hooks);
  if (place != facts_.hooks) return {};  // it was configured since
  TRY(copy_hooks(worktree / hooks, place));
  return link_beside_hooks(worktree, place.lexically_relative(copied_hooks()), copied_hooks());
}

fs::path PinnedRepository::place_of_hooks(const fs::path& configured) const {
  const fs::path place = (copied_hooks() / configured).lexically_normal();
  const fs::path within = place.lexically_relative(copied_hooks());
  return *within.begin() == ".." ? copied_hooks() : place;
}

tl::expected<void, std::string> PinnedRepository::record(std::string base_commit,
                                                         std::string base_branch) {
  facts_.base_commit = std::move(base_commit);
  facts_.base_branch = std::move(base_branch);
  const auto written = write_stored_json(directory_ / record_name, facts_);
  if (!written) return not_pinned(written.error().message);
  recorded_ = true;
  return {};
}

std::vector<std::string> PinnedRepository::changed_programs() const {
  if (!recorded_) return {};
  std::vector<std::string> changed;
  if (const auto listed = list_config(facts_.repository, directory_)) {
    const std::vector<std::string> now = programs_of_config(*listed);
    std::vector<std::string> differing;
    std::set_symmetric_difference(now.begin(), now.end(), facts_.programs.begin(),
                                  facts_.programs.end(), std::back_inserter(differing));
    for (const std::string& entry : differing)
      changed.push_back(shown(entry.substr(0, entry.find('\n'))));
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  }
  const fs::path hooks = fs::path(facts_.common_directory) / "hooks";
  const bool hooks_elsewhere =
      std::any_of(facts_.programs.begin(), facts_.programs.end(),
                  [](const std::string& each) { return each.starts_with("core.hookspath"); });
  if (!hooks_elsewhere && facts_.hooks == copied_hooks() &&
      has_other_hooks(hooks, copied_hooks())) {
    changed.emplace_back("hooks");
  }
  return changed;
}

GitOutcome PinnedRepository::in_repository(std::vector<std::string> arguments,
                                           GitOptions options) const {
  options.place = GitPlace{facts_.git_directory, common(), {}, facts_.hooks};
  return git(facts_.repository, std::move(arguments), options);
}

tl::expected<std::string, std::string> PinnedRepository::listing(std::vector<std::string> arguments,
                                                                 GitOptions options,
                                                                 const fs::path& scratch) const {
  options.place = GitPlace{facts_.git_directory, common(), {}, facts_.hooks};
  return git_listing(facts_.repository, std::move(arguments), std::move(options), scratch);
}

GitOutcome PinnedRepository::in_worktree_of_its_own(std::vector<std::string> arguments,
                                                    GitOptions options) const {
  options.place = GitPlace{facts_.git_directory, common(), facts_.repository, facts_.hooks};
  return git(facts_.repository, std::move(arguments), options);
}

tl::expected<GitPlace, std::string> PinnedRepository::place_of(const fs::path& path) const {
  const auto own = TRY(find_worktree_directory(path, facts_.common_directory));
  return GitPlace{own, common(), path, facts_.hooks};
}

tl::expected<GitPlace, std::string> PinnedRepository::place_of_record(
    const fs::path& record) const {
  const fs::path worktrees = fs::path(facts_.common_directory) / "worktrees";
  if (resolved_path(record.parent_path()) != resolved_path(worktrees)) {
    return tl::unexpected(record.string() + " is not in " + worktrees.string());
  }
  return GitPlace{resolved_path(record), common(), {}, facts_.hooks};
}

bool PinnedRepository::is_untouched(const GitPlace& place) const {
  if (!is_unfinished_worktree(place.git_directory)) return false;
  const bool has_index = is_there(place.git_directory / "index");
  // It was finished when the repository was recorded. A merge may begin again with another one,
  // whose index is written last; in any other, whoever works there can remove the index.
  const bool is_merge = is_merge_worktree(place.work_tree);
  if (recorded_) return is_merge && !has_index;
  // The record may be lost. The index and the marker are written before the lock goes.
  return is_merge || (!has_index && !is_there(place.git_directory / fence_marker_name));
}

tl::expected<GitPlace, std::string> PinnedRepository::place_of_checkout(
    const fs::path& path) const {
  if (resolved_path(path) != resolved_path(facts_.repository)) {
    const fs::path main = fs::path(facts_.common_directory).parent_path();
    if (resolved_path(path) != main) return place_of(path);
    return GitPlace{facts_.common_directory, common(), path, facts_.hooks};
  }
  return GitPlace{facts_.git_directory, common(), path, facts_.hooks};
}

std::optional<fs::path> recorded_directory(const fs::path& worktree) {
  constexpr std::string_view prefix = "gitdir: ";
  const auto pointer = only_line(worktree / ".git");
  if (!pointer || !pointer->starts_with(prefix)) return std::nullopt;
  return fs::path(pointer->substr(prefix.size()));
}

bool was_moved(const fs::path& worktree) {
  const auto own = recorded_directory(worktree);
  const auto back = own ? only_line(*own / "gitdir") : std::nullopt;
  return back && fs::path(*back).is_absolute() && !is_there(*back);
}

tl::expected<fs::path, std::string> find_worktree_directory(const fs::path& worktree,
                                                            const fs::path& common_directory) {
  if (!is_real_directory(worktree)) return tl::unexpected<std::string>("it is not a directory");
  const auto recorded = recorded_directory(worktree);
  if (!recorded) {
    return tl::unexpected<std::string>("its .git is not the file that git worktree makes");
  }
  const fs::path& own = *recorded;
  if (!own.is_absolute() || resolved_path(own.parent_path()) != common_directory / "worktrees" ||
      !is_real_directory(own)) {
    return tl::unexpected("its .git points to " + shown(own) + ", not into " +
                          (common_directory / "worktrees").string());
  }
  const auto back = only_line(own / "gitdir");
  if (!back || resolved_path(fs::path(*back).parent_path()) != resolved_path(worktree)) {
    return tl::unexpected(own.string() + "/gitdir doesn't point back to it");
  }
  const auto shared = only_line(own / "commondir");
  if (!shared || resolved_path(own / *shared) != common_directory) {
    return tl::unexpected(own.string() + "/commondir doesn't point to " +
                          common_directory.string());
  }
  return resolved_path(own);
}

}  // namespace signalbox
