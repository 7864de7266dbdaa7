#include "server/git/submodule_links.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/platform/atomic_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t index_listing_bytes_max = 1024UL * 1024 * 1024;

}  // namespace

tl::expected<std::vector<std::string>, std::string> submodule_links(const fs::path& worktree,
                                                                    const GitOptions& options,
                                                                    const fs::path& scratch) {
  GitOptions to_file = options;
  to_file.output_file = scratch / ("index-listing-" + std::to_string(::getpid()));
  const GitOutcome listed = git(worktree, {"ls-files", "--stage", "-z"}, to_file);
  const auto text = read_regular_file(to_file.output_file, index_listing_bytes_max);
  std::error_code ignored;
  fs::remove(to_file.output_file, ignored);
  if (!listed.ok) return tl::unexpected(listed.message);
  if (!text) return tl::unexpected(text.error().message);
  // "160000 <commit> <stage>\t<path>\0"
  std::vector<std::string> paths;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t tab = entry.find('\t');
    if (!entry.starts_with("160000 ") || tab == std::string_view::npos) continue;
    if (paths.size() == limits::submodules_max) {
      return tl::unexpected("there are more than " + std::to_string(limits::submodules_max) +
                            " submodules");
    }
    paths.emplace_back(entry.substr(tab + 1));
  }
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());  // stages of a conflict
  return paths;
}

tl::expected<void, std::string> add_changes(const fs::path& worktree, const GitOptions& options,
                                            const fs::path& scratch) {
  const auto links = TRY(submodule_links(worktree, options, scratch));
  std::vector<std::string> add{"add", "--all", "--", ".", exclude_check_scratch};
  for (const std::string& path : links) add.push_back(":(exclude,top,literal)" + path);
  if (const GitOutcome added = git(worktree, std::move(add), options); !added.ok) {
    return tl::unexpected(added.message);
  }
  if (links.empty()) return {};
  std::vector<std::string> update{"update-index", "--add", "--remove", "--"};
  update.insert(update.end(), links.begin(), links.end());
  if (const GitOutcome updated = git(worktree, std::move(update), options); !updated.ok) {
    return tl::unexpected(updated.message);
  }
  return {};
}

}  // namespace signalbox
