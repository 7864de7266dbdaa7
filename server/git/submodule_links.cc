#include "server/git/submodule_links.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/git/git_listing.h"
#include "server/git/path_facts.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view link_mode = "160000";

tl::expected<std::vector<std::string>, std::string> bounded(std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());  // stages of a conflict
  if (paths.size() <= limits::submodules_max) return paths;
  return tl::unexpected("there are more than " + std::to_string(limits::submodules_max) +
                        " submodules");
}

}  // namespace

tl::expected<std::vector<std::string>, std::string> submodule_links(const fs::path& worktree,
                                                                    const GitOptions& options,
                                                                    const fs::path& scratch) {
  const auto text = TRY(git_listing(worktree, {"ls-files", "--stage", "-z"}, options, scratch));
  // "160000 <commit> <stage>\t<path>\0"
  std::vector<std::string> paths;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = take_until(rest, '\0');
    const std::size_t tab = entry.find('\t');
    if (!entry.starts_with(link_mode) || tab == std::string_view::npos) continue;
    paths.emplace_back(entry.substr(tab + 1));
  }
  return bounded(std::move(paths));
}

tl::expected<std::vector<std::string>, std::string> changed_submodule_links(
    const fs::path& worktree, const GitOptions& options, const fs::path& scratch,
    const std::string& base) {
  const auto text = TRY(git_listing(
      worktree,
      {"diff-index", "--cached", "--raw", "-z", "--no-renames", "--ignore-submodules=none", base},
      options, scratch));
  // ":<mode> 160000 <commit> <commit> <status>\0<path>\0"
  constexpr std::size_t new_mode_at = 8;
  std::vector<std::string> paths;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view entry = take_until(rest, '\0');
    const std::string_view path = take_until(rest, '\0');
    if (entry.size() <= new_mode_at || !entry.substr(new_mode_at).starts_with(link_mode)) continue;
    paths.emplace_back(path);
  }
  return bounded(std::move(paths));
}

std::vector<DeclaredSubmodule> declared_submodules(const fs::path& worktree,
                                                   const GitOptions& options) {
  constexpr std::string_view before_name = "submodule.";
  constexpr std::string_view after_name = ".path";
  // Fails if there is no such file.
  const GitOutcome listed =
      git(worktree,
          {"config", "--blob", ":.gitmodules", "-z", "--get-regexp", "^submodule\\..*\\.path$"},
          options);
  std::vector<DeclaredSubmodule> declared;
  std::string_view rest = listed.ok ? std::string_view(listed.output) : std::string_view();
  while (!rest.empty()) {  // "submodule.<name>.path\n<path>\0"
    const std::string_view entry = take_until(rest, '\0');
    const std::string_view key = entry.substr(0, entry.find('\n'));
    const bool is_whole = key.size() < entry.size() && key.starts_with(before_name) &&
                          key.size() > before_name.size() + after_name.size();
    if (!is_whole) continue;
    std::string name(key.substr(before_name.size()));
    name.resize(name.size() - after_name.size());
    declared.push_back({std::string(entry.substr(key.size() + 1)), std::move(name)});
  }
  std::sort(declared.begin(), declared.end());
  return declared;
}

bool is_declared(const std::vector<DeclaredSubmodule>& declared, const std::string& path) {
  return std::any_of(declared.begin(), declared.end(),
                     [&path](const DeclaredSubmodule& each) { return each.path == path; });
}

bool has_files_in_place_of_submodule(const fs::path& worktree, const std::string& link) {
  const fs::path path = worktree / link;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return false;
  return !is_there(path / ".git") && !fs::is_empty(path, error) && !error;
}

tl::expected<void, std::string> add_changes(const fs::path& worktree, const GitOptions& options,
                                            const fs::path& scratch,
                                            const std::vector<std::string>& left_out) {
  const auto update_index = [&](std::vector<std::string> arguments,
                                const std::vector<std::string>& paths) {
    if (paths.empty()) return tl::expected<void, std::string>();
    arguments.insert(arguments.begin(), "update-index");
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), paths.begin(), paths.end());
    const GitOutcome updated = git(worktree, std::move(arguments), options);
    if (updated.ok) return tl::expected<void, std::string>();
    return tl::expected<void, std::string>(tl::unexpect, updated.message);
  };
  auto links = TRY(submodule_links(worktree, options, scratch));
  const auto first_replaced = std::stable_partition(
      links.begin(), links.end(),
      [&](const std::string& link) { return !has_files_in_place_of_submodule(worktree, link); });
  // Git adds no file below the path of a submodule.
  TRY(update_index({"--force-remove"}, {first_replaced, links.end()}));
  links.erase(first_replaced, links.end());

  std::vector<std::string> add{"add", "--all", "--", ".", exclude_check_scratch};
  for (const std::string& path : links) add.push_back(":(exclude,top,literal)" + path);
  for (const std::string& path : left_out) add.push_back(":(exclude,top,literal)" + path);
  // Git would refuse files that a sparse checkout leaves out.
  GitOptions everywhere = options;
  everywhere.settings.emplace_back("core.sparseCheckout=false");
  if (const GitOutcome added = git(worktree, std::move(add), everywhere); !added.ok) {
    return tl::unexpected(added.message);
  }
  return update_index({"--add", "--remove"}, links);
}

}  // namespace signalbox
