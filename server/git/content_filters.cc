#include "server/git/content_filters.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "domain/try.h"
#include "server/git/git_listing.h"
#include "server/text/separated_text.h"

namespace signalbox {
namespace {

// Returns the keys of the configuration that name a program of a filter. One that only changes what
// is checked out is set up so that git commits files as they are.
tl::expected<std::set<std::string>, std::string> keys_with_program(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch) {
  const auto listed = TRY(git_listing(worktree, {"config", "--list", "-z"}, options, scratch));
  std::set<std::string> keys;
  std::string_view rest = listed;
  while (!rest.empty()) {  // "filter.<name>.clean\n<program>\0", and other keys
    std::string_view entry = take_until(rest, '\0');
    const std::string key(take_until(entry, '\n'));
    if (!key.starts_with("filter.")) continue;
    if (entry.empty()) {
      keys.erase(key);  // the last one counts
    } else {
      keys.insert(key);
    }
  }
  return keys;
}

}  // namespace

tl::expected<std::vector<UnfilteredFile>, std::string> files_without_filter(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch, std::vector<std::string> paths) {
  std::vector<UnfilteredFile> files;
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  if (paths.empty()) return files;
  GitOptions with_paths = options;
  with_paths.input.emplace();
  for (const std::string& each : paths) *with_paths.input += each + '\0';
  const auto listed =
      TRY(git_listing(worktree, {"check-attr", "-z", "--stdin", "filter"}, with_paths, scratch));
  std::string_view rest = listed;
  while (!rest.empty()) {  // "<path>\0filter\0<value>\0"
    const std::string_view path = take_until(rest, '\0');
    (void)take_until(rest, '\0');
    const std::string_view value = take_until(rest, '\0');
    if (value == "unspecified" || value == "unset" || value == "set") continue;
    files.push_back({std::string(path), std::string(value)});
  }
  if (files.empty()) return files;
  const auto keys = TRY(keys_with_program(worktree, options, scratch));
  std::erase_if(files, [&keys](const UnfilteredFile& each) {
    const std::string key = "filter." + each.filter;
    return keys.contains(key + ".clean") || keys.contains(key + ".smudge") ||
           keys.contains(key + ".process");
  });
  return files;
}

}  // namespace signalbox
