#include "server/git/worktree_status.h"

#include <utility>

#include "domain/try.h"
#include "server/git/check_scratch.h"
#include "server/git/git_listing.h"
#include "server/text/printable_text.h"
#include "server/text/separated_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {

tl::expected<WorktreeStatus, std::string> read_worktree_status(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch, IgnoredFiles ignored) {
  std::vector<std::string> arguments{
      "--no-optional-locks",       "status",      "--porcelain=v2", "-z", "--untracked-files=all",
      "--ignore-submodules=dirty", "--no-renames"};  // git would read objects to find them
  if (ignored == IgnoredFiles::list) arguments.emplace_back("--ignored=matching");
  arguments.insert(arguments.end(), {"--", ".", exclude_check_scratch});
  const auto text = TRY(git_listing(worktree, std::move(arguments), options, scratch));
  return parse_worktree_status(text);
}

std::string left_out_text(const std::vector<std::string>& ignored) {
  std::string text;
  for (const std::string& each : ignored) text += printable(each) + "\n";
  return shortened(text, limits::left_out_bytes_max);
}

namespace {

// Returns the path of an entry that isn't of an untracked file: what follows its fields, of which a
// name that is changed has eight, one that is renamed nine, and one in conflict ten.
std::string path_of(std::string_view entry) {
  const int fields = entry.front() == 'u' ? 10 : entry.front() == '2' ? 9 : 8;
  for (int field = 0; field < fields; ++field) (void)take_until(entry, ' ');
  return std::string(entry);
}

}  // namespace

WorktreeStatus parse_worktree_status(std::string_view text) {
  WorktreeStatus status;
  while (!text.empty()) {
    const std::string_view entry = take_until(text, '\0');
    if (entry.size() < 3 || entry.front() == '#') continue;  // "# stash 1", if git is told to
    const std::string name(entry.substr(2));
    if (entry.front() == '!') {
      status.ignored.push_back(name);
      continue;
    }
    status.changed = true;
    if (entry.front() != '?') {
      status.tracked_changed = true;
      status.tracked.push_back(path_of(entry));
      if (entry.front() == 'u') status.unmerged.push_back(status.tracked.back());
    }
    // With --untracked-files=all, git lists files one by one; an entry that is a directory is
    // therefore a repository.
    if (entry.front() == '?') {
      (entry.ends_with('/') ? status.repositories : status.untracked).push_back(name);
    }
    // "1 XY sub …": for a submodule, `sub` begins with S. Its commits are lost with the worktree.
    if (entry.front() != '?' && entry.size() > 5 && entry[5] == 'S') {
      status.submodule_changed = true;
    }
    // skip the earlier name of a renamed file
    if (entry.front() == '2') (void)take_until(text, '\0');
  }
  return status;
}

}  // namespace signalbox
